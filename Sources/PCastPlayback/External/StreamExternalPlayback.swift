public import PCast
internal import Synchronization

/// External playback that publishes the content of a session as a stream of a platform, for another device to view.
/// Local playback is silent and black meanwhile, and still controls the content. A subscribed stream of a platform is
/// published as it is.
///
///     let outlet = PlaybackCapture()
///     let player = Player(.media(shownOn: screen, capturedBy: outlet))
///     …
///     try await player.startExternalPlayback(StreamExternalPlayback(of: outlet, through: pcast, token: token) { publisher in
///         try await television.watch(publisher.streamID)
///     })
public final class StreamExternalPlayback: ExternalPlayback {
    private let capture: PlaybackCapture
    private let pcast: PCast
    private let token: String
    private let options: PublishOptions
    private let invite: @Sendable (Publisher) async throws -> Void
    private let publisher = Mutex<Publisher?>(nil)

    /// Creates external playback through a platform. `capture` is that of the player. The caller has started `pcast`, and
    /// keeps its ownership. `token` is an EdgeAuth token for publishing. `invite` makes the device view the stream
    /// and returns when it does; its errors are thrown by ``Player/startExternalPlayback(_:)``.
    public init(
        of capture: PlaybackCapture, through pcast: PCast, token: String, options: PublishOptions = PublishOptions(),
        invite: @escaping @Sendable (Publisher) async throws -> Void = { _ in }
    ) {
        (self.capture, self.pcast, self.token, self.options) = (capture, pcast, token, options)
        self.invite = invite
    }

    /// The ID of the published stream; nil while there is none.
    public var streamID: StreamID? { publisher.withLock { $0 }?.streamID }

    /// Whether the published stream has ended, or none was published.
    public var hasEnded: Bool { publisher.withLock { $0 }?.hasEnded ?? true }

    /// Publishes the content and invites the device. Throws the error of the platform or of the invitation.
    public func start(_ session: PlaybackSession) async throws {
        let publisher = try await pcast.publish(
            streamToken: token, mediaStream: session.subscribedStream ?? capture.mediaStream, options: options)
        do {
            try await invite(publisher)
        } catch {
            publisher.stop()
            throw error
        }
        self.publisher.withLock { $0 = publisher }
        capture.setAway(true)
        // If the platform ends the stream, local playback resumes.
        publisher.whenEnded { [weak self, weak session] _ in
            guard let self, let player = session?.player else { return }
            Task { await player.stopExternalPlayback(by: self) }
        }
    }

    /// Stops publishing, and resumes local playback.
    public func stop(_ session: PlaybackSession) async {
        let publisher = publisher.withLock { publisher in
            defer { publisher = nil }
            return publisher
        }
        capture.setAway(false)
        publisher?.stop()
        _ = await publisher?.ended
    }
}

/// Another device that plays the content of a session, for example as a viewer of a PCast stream. Meanwhile the local
/// audio output is silent (Brightcove's external playback, which uses AirPlay).
public protocol ExternalPlayback: AnyObject, Sendable {
    /// Starts playback on the device, and returns when it plays. Throws an error if the start fails.
    func start(_ session: PlaybackSession) async throws

    /// Stops playback on the device. It is called once for each successful start: at the application's request, or when
    /// the session is over.
    func stop(_ session: PlaybackSession) async

    /// Whether playback on the device has ended, for any reason.
    var hasEnded: Bool { get }
}

extension ExternalPlayback {
    /// False: playback on the device ends only by `stop(_:)`.
    public var hasEnded: Bool { false }
}
