import PCastCore
import PCastIO
import Synchronization

/// A channel: a room whose presenter an audience watches (Phenix: `ChannelExpress`).
///
///     let channel = pcast.channel("demo")
///     try await channel.join()
///     for await stream in channel.stream.values { … }
///
/// The stream changes with the presenter. If the stream of one ends or cannot be played, that of another one follows. The
/// client leaves the channel when this object is released.
public final class Channel: Sendable {
    /// The members and the conversation.
    public let room: Room
    /// The presenter whose stream is selected; nil if there is none, and before ``join(screenName:selection:streamToken:)``.
    public let presenter = ObservableValue<RoomMember?>(nil)
    /// The stream of the presenter; nil while there is none.
    public let stream = ObservableValue<MediaStream?>(nil) { $0 === $1 }

    private let viewing = Mutex<Task<Void, Never>?>(nil)

    init(_ room: Room) { self.room = room }

    deinit { viewing.withLock { $0?.cancel() } }

    /// Enters the channel as its audience, and subscribes to the stream of its presenter. It returns when the client has
    /// entered; there may be no presenter yet.
    ///
    /// - Parameters:
    ///   - screenName: The name of this client for people.
    ///   - selection: The selection among several presenters.
    ///   - streamToken: The source of tokens for viewing. A platform on loopback needs none.
    /// - Throws: ``PCastError``; see ``Room/join(as:screenName:)``.
    public func join(
        screenName: String = "guest", selection: PresenterSelection = .mostRecent,
        streamToken: @escaping PCast.TokenSource = { () throws(PCastError) in "" }
    ) async throws(PCastError) {
        try await room.join(as: .audience, screenName: screenName)
        let viewing = ChannelViewing(
            pcast: room.pcast, members: room.members, presenter: presenter, stream: stream, streamToken: streamToken)
        let former = self.viewing.withLock { task in
            let former = task
            task = Task {
                await former?.value
                await viewing.run(PresenterChoice(selection))
            }
            return former
        }
        former?.cancel()
    }

    /// Publishes a stream as a presenter; see ``Room/publish(_:as:kind:screenName:tags:options:recovering:streamToken:)``.
    public func publish(
        _ mediaStream: MediaStream, screenName: String = "guest", tags: [String] = [],
        options: PublishOptions = PublishOptions(), recovering policy: RecoveryPolicy = RecoveryPolicy(),
        streamToken: @escaping PCast.TokenSource = { () throws(PCastError) in "" }
    ) async throws(PCastError) -> RoomPublication {
        try await room.publish(
            mediaStream, as: .presenter, screenName: screenName, tags: tags, options: options, recovering: policy,
            streamToken: streamToken)
    }

    /// Ends the stream and leaves the channel. It has no effect if the client is no member.
    public func leave() async {
        let task = viewing.withLock { $0.take() }
        task?.cancel()
        await task?.value
        await room.leave()
    }
}

/// The task of a ``Channel`` that subscribes to the stream of the presenter.
struct ChannelViewing: Sendable {
    let pcast: PCast
    let members: ObservableValue<[RoomMember]>
    let presenter: ObservableValue<RoomMember?>
    let stream: ObservableValue<MediaStream?>
    let streamToken: PCast.TokenSource

    /// The time for which the stream continues without a presenter, because one may return after a short interruption.
    private static let vacancy = TimeSpan.milliseconds(400)
    /// The time before another attempt while the connection is lost.
    private static let offlineInterval = TimeSpan.milliseconds(500)

    /// Follows the members until the task is cancelled.
    func run(_ choice: PresenterChoice) async {
        var choice = choice
        var playing: (id: StreamID, stream: MediaStream)?
        var vacantSince: Instant?
        var retry: (stream: StreamID, at: Instant)?
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let following = Task { [members = members.values] in
            for await _ in members { wake.yield() }
        }
        for await _ in wakes {
            if let current = playing, let info = current.stream.endedInfo {
                if case .retry = RecoveryPolicy().action(after: info) {
                    _ = choice.failed(current.id, .failed)
                } else {
                    choice.ended(current.id)
                }
                playing = nil
                stream.set(nil)
            }
            let now = MonotonicClock.now()
            guard let chosen = choice.choose(from: members.value) else {
                if let current = playing {
                    let since = vacantSince ?? now
                    vacantSince = since
                    guard now - since >= Self.vacancy else {
                        self.wake(wake, after: Self.vacancy - (now - since))
                        continue
                    }
                    current.stream.stop()
                    playing = nil
                }
                stream.set(nil)
                presenter.set(nil)
                continue
            }
            vacantSince = nil
            presenter.set(chosen.member)
            guard chosen.stream != playing?.id else { continue }
            if let retry, retry.stream == chosen.stream, now < retry.at {
                self.wake(wake, after: retry.at - now)
                continue
            }
            do throws(PCastError) {
                let next = try await pcast.subscribe(streamToken: try await streamToken(), streamID: chosen.stream)
                stream.set(next)
                playing?.stream.stop()
                playing = (chosen.stream, next)
                next.whenEnded { _ in wake.yield() }
            } catch {
                let isOffline = error.status == .notReady || error.cause == .connection
                let pause = isOffline ? Self.offlineInterval : choice.failed(chosen.stream, error.status)
                retry = (chosen.stream, MonotonicClock.now() + pause)
                self.wake(wake, after: pause)
            }
        }
        following.cancel()
        playing?.stream.stop()
        stream.set(nil)
        presenter.set(nil)
    }

    private func wake(_ wake: AsyncStream<Void>.Continuation, after time: TimeSpan) {
        Task {
            try? await Task.sleep(for: time.duration)
            wake.yield()
        }
    }
}

extension PCast {
    /// Returns a channel by its alias. The client enters it with ``Channel/join(screenName:selection:streamToken:)``.
    public func channel(_ alias: String) -> Channel { Channel(room(alias)) }

    /// Returns a channel by its identifier.
    public func channel(id: String) -> Channel { Channel(room(id: id)) }
}
