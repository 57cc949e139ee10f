public import PCastCore
public import PCastDevices
import Synchronization

/// The callback forms of seed 004. Each promised callback is called exactly once, with `timeout` if need be; those of
/// `start` as often as there is something to tell.
extension PCast {
    /// Connects and authenticates. Begins before it returns, so that a stream that is subscribed to next is asked for
    /// together with the authentication.
    ///
    /// - Parameters:
    ///   - authenticationCallback: `ok` with the session; or why there is none, `unauthorized` at any later time too.
    ///   - onlineCallback: connected.
    ///   - offlineCallback: disconnected for the moment; streams that go on may do so.
    public func start(
        _ authenticationToken: String,
        authenticationCallback: @escaping @Sendable (PCast, RequestStatus, SessionID?) -> Void,
        onlineCallback: @escaping @Sendable (PCast) -> Void,
        offlineCallback: @escaping @Sendable (PCast) -> Void
    ) {
        let (events, teller) = AsyncStream.makeStream(
            of: PCastEvent.self, bufferingPolicy: .bufferingNewest(Broadcast<PCastEvent>.bufferLimit))
        // Held until the first callback: one that is promised is made, also when nobody else holds the SDK any more.
        let holder = Holder(self)
        Task { [weak self] in
            for await event in events {
                guard let self = holder.pcast.withLock({ $0 }) ?? self else { return }
                if case .authenticated = event { holder.pcast.withLock { $0 = nil } }
                switch event {
                case .authenticated(let status, let session): authenticationCallback(self, status, session)
                case .online: onlineCallback(self)
                case .offline: offlineCallback(self)
                }
            }
        }
        // A start that was refused here and now is no event of the session, which may go on.
        if let refusal = begin(authenticationToken, telling: teller) {
            teller.yield(.authenticated(refusal.status, nil))
            teller.finish()
        }
    }

    /// Ends all streams and the session.
    public func stop(_ stoppedCallback: @escaping @Sendable (PCast) -> Void) {
        Task {
            await stop()
            stoppedCallback(self)
        }
    }

    public func enumerateSourceDevices(
        _ mediaType: MediaType, _ callback: @escaping @Sendable (PCast, [SourceDeviceInfo]) -> Void
    ) {
        Task { callback(self, (try? await enumerateSourceDevices(mediaType)) ?? []) }
    }

    public func getUserMedia(
        _ options: UserMediaOptions,
        _ userMediaCallback: @escaping @Sendable (PCast, RequestStatus, UserMediaStream?) -> Void
    ) {
        Task {
            do throws(PCastError) {
                userMediaCallback(self, .ok, try await getUserMedia(options))
            } catch {
                userMediaCallback(self, error.status, nil)
            }
        }
    }

    public func publish(
        streamToken: String, mediaStream: MediaStream, tags: [String] = [], options: PublishOptions = PublishOptions(),
        _ publishCallback: @escaping @Sendable (PCast, RequestStatus, Publisher?) -> Void
    ) {
        Task {
            do throws(PCastError) {
                let publisher = try await publish(
                    streamToken: streamToken, mediaStream: mediaStream, tags: tags, options: options)
                publishCallback(self, .ok, publisher)
            } catch {
                publishCallback(self, error.status, nil)
            }
        }
    }

    public func subscribe(
        streamToken: String, streamID: StreamID? = nil,
        _ subscribeCallback: @escaping @Sendable (PCast, RequestStatus, MediaStream?) -> Void
    ) {
        Task {
            do throws(PCastError) {
                subscribeCallback(self, .ok, try await subscribe(streamToken: streamToken, streamID: streamID))
            } catch {
                subscribeCallback(self, error.status, nil)
            }
        }
    }
}

/// Keeps the SDK for as long as something promised is due.
private final class Holder: Sendable {
    let pcast: Mutex<PCast?>

    init(_ pcast: PCast) { self.pcast = Mutex(pcast) }
}
