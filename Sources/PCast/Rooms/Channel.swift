import PCastCore
import PCastIO
import Synchronization

/// A channel: a room whose presenter an audience watches (Phenix: `ChannelExpress`).
///
///     let channel = pcast.channel("demo")
///     try await channel.join()
///     for await stream in channel.stream.values { … }
///
/// The client connects when it joins, also before anybody presents. The stream continues when another presenter takes over. If
/// the platform offers no such stream to the client, it is that of one presenter, and another one follows with the next
/// presenter. The client leaves the channel when this object is released.
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
            pcast: room.pcast, alias: room.info.value.map { StreamID($0.alias) }, members: room.members,
            presenter: presenter, stream: stream, streamToken: streamToken)
        let former = self.viewing.withLock { task in
            let former = task
            task = Task {
                await former?.value
                await viewing.run(selection)
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
///
/// It subscribes to the channel by its name before anybody presents, and keeps this stream when the presenter changes. The
/// platform then begins to forward with the next key frame, and no connection has to be made. If the platform does not permit
/// that, it subscribes to the stream of each presenter.
struct ChannelViewing: Sendable {
    let pcast: PCast
    /// The name of the channel; nil to subscribe to the streams of presenters only.
    let alias: StreamID?
    let members: ObservableValue<[RoomMember]>
    let presenter: ObservableValue<RoomMember?>
    let stream: ObservableValue<MediaStream?>
    let streamToken: PCast.TokenSource

    /// The time for which the stream continues without a presenter, because one may return after a short interruption.
    private static let vacancy = TimeSpan.milliseconds(400)
    /// The time before another attempt while the connection is lost.
    private static let offlineInterval = TimeSpan.milliseconds(500)
    /// A stream of the channel that ends within this time is not subscribed to again.
    private static let shortest = TimeSpan.seconds(1)

    /// The stream of the channel, which follows the presenters.
    private struct Shared {
        /// Whether the platform has not refused it.
        var isOffered = true
        var stream: MediaStream?
        var began = Instant(nanoseconds: 0)
        /// The time before which it is not tried again.
        var retryAt: Instant?
    }

    /// The stream of one presenter.
    private struct Playing {
        let id: StreamID
        let stream: MediaStream
    }

    /// Follows the members until the task is cancelled.
    func run(_ selection: PresenterSelection) async {
        var choice = PresenterChoice(selection)
        var shared = Shared(isOffered: alias != nil)
        var playing: Playing?
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
            await follow(&shared, selection, wake)
            let now = MonotonicClock.now()
            guard let chosen = choice.choose(from: members.value) else {
                if stream.value != nil {
                    let since = vacantSince ?? now
                    vacantSince = since
                    guard now - since >= Self.vacancy else {
                        self.wake(wake, after: Self.vacancy - (now - since))
                        continue
                    }
                    playing?.stream.stop()
                    playing = nil
                }
                stream.set(nil)
                presenter.set(nil)
                continue
            }
            vacantSince = nil
            presenter.set(chosen.member)
            if let following = shared.stream {
                stream.set(following)
                playing?.stream.stop()
                playing = nil
                continue
            }
            guard !shared.isOffered, chosen.stream != playing?.id else { continue }
            if let retry, retry.stream == chosen.stream, now < retry.at {
                self.wake(wake, after: retry.at - now)
                continue
            }
            do throws(PCastError) {
                let next = try await pcast.subscribe(streamToken: try await streamToken(), streamID: chosen.stream)
                stream.set(next)
                playing?.stream.stop()
                playing = Playing(id: chosen.stream, stream: next)
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
        shared.stream?.stop()
        stream.set(nil)
        presenter.set(nil)
    }

    /// Subscribes to the stream of the channel, unless the client has it already or the platform has refused it.
    private func follow(
        _ shared: inout Shared, _ selection: PresenterSelection, _ wake: AsyncStream<Void>.Continuation
    ) async {
        let now = MonotonicClock.now()
        if let current = shared.stream, current.endedInfo != nil {
            shared.stream = nil
            stream.set(nil)
            if now - shared.began < Self.shortest { shared.isOffered = false }
        }
        guard shared.isOffered, shared.stream == nil else { return }
        if let retryAt = shared.retryAt, now < retryAt { return self.wake(wake, after: retryAt - now) }
        do throws(PCastError) {
            let next = try await pcast.subscribe(
                streamToken: try await streamToken(), streamID: alias, options: [selection.awaitOption])
            (shared.stream, shared.began, shared.retryAt) = (next, MonotonicClock.now(), nil)
            next.whenEnded { _ in wake.yield() }
        } catch {
            // A refusal is final. The streams of presenters may be permitted nevertheless.
            guard error.status == .notReady || error.cause == .connection else {
                shared.isOffered = false
                return
            }
            shared.retryAt = MonotonicClock.now() + Self.offlineInterval
            self.wake(wake, after: Self.offlineInterval)
        }
    }

    private func wake(_ wake: AsyncStream<Void>.Continuation, after time: TimeSpan) {
        Task {
            try? await Task.sleep(for: time.duration)
            wake.yield()
        }
    }
}

extension PresenterSelection {
    /// The option with which a client subscribes to a channel whose presenter is selected in this way.
    fileprivate var awaitOption: String {
        switch self {
        case .mostRecent: "await-presenter=most-recent"
        case .highAvailability: "await-presenter=high-availability"
        }
    }
}

extension PCast {
    /// Returns a channel by its alias. The client enters it with ``Channel/join(screenName:selection:streamToken:)``.
    public func channel(_ alias: String) -> Channel { Channel(room(alias)) }

    /// Returns a channel by its identifier.
    public func channel(id: String) -> Channel { Channel(room(id: id)) }
}
