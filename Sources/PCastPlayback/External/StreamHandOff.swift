public import PCast
internal import Synchronization

/// Has another device play what a session plays, as a stream of a platform that the device watches: here it is silent and dark
/// meanwhile, and remains what steers it. A stream of a platform is passed on as it comes.
///
///     let outlet = PlaybackOutlet()
///     let player = Player(.media(shownOn: screen, by: outlet))
///     …
///     try await player.startExternalPlayback(StreamHandOff(of: outlet, through: pcast, token: token) { publisher in
///         try await television.watch(publisher.streamID)
///     })
public final class StreamHandOff: ExternalPlayback {
    private let outlet: PlaybackOutlet
    private let pcast: PCast
    private let token: String
    private let options: PublishOptions
    private let invite: @Sendable (Publisher) async throws -> Void
    private let publisher = Mutex<Publisher?>(nil)

    /// - Parameters:
    ///   - outlet: the player's.
    ///   - pcast: was started; remains the caller's.
    ///   - token: made with EdgeAuth, for publishing.
    ///   - invite: tells the device of the stream, and returns when it watches; what it throws is thrown by
    ///     ``Player/startExternalPlayback(_:)``.
    public init(
        of outlet: PlaybackOutlet, through pcast: PCast, token: String, options: PublishOptions = PublishOptions(),
        invite: @escaping @Sendable (Publisher) async throws -> Void = { _ in }
    ) {
        (self.outlet, self.pcast, self.token, self.options) = (outlet, pcast, token, options)
        self.invite = invite
    }

    /// Nil while nothing is handed on.
    public var streamID: StreamID? { publisher.withLock { $0 }?.streamID }

    public var hasEnded: Bool { publisher.withLock { $0 }?.hasEnded ?? true }

    /// - Throws: what the platform says, or the invitation.
    public func start(_ session: PlaybackSession) async throws {
        let publisher = try await pcast.publish(
            streamToken: token, mediaStream: session.subscribedStream ?? outlet.mediaStream, options: options)
        do {
            try await invite(publisher)
        } catch {
            publisher.stop()
            throw error
        }
        self.publisher.withLock { $0 = publisher }
        outlet.setAway(true)
        // A platform that is gone ends it, and the session is heard and seen here again.
        publisher.setPublisherEndedCallback {
            [weak self, weak session] (_: Publisher, _: StreamEndedReason, _: String) in
            guard let self, let player = session?.player else { return }
            Task { await player.stopExternalPlayback(by: self) }
        }
    }

    public func stop(_ session: PlaybackSession) async {
        let publisher = publisher.withLock { publisher in
            defer { publisher = nil }
            return publisher
        }
        outlet.setAway(false)
        publisher?.stop()
        _ = await publisher?.ended
    }
}
