public import PCastCore
public import PCastDevices
import Synchronization

// The callback forms of the SDK's functions. Each callback for a result is called exactly once, with `timeout` if there
// is no response. Those of `start` are called for each event.
extension PCast {
    /// Connects and authenticates (Phenix: `start`).
    ///
    /// The start begins before the function returns. A subscription that follows is sent together with the
    /// authentication.
    ///
    /// - Parameters:
    ///   - authenticationToken: The token, which is made with EdgeAuth.
    ///   - authenticationCallback: A function that receives `ok` with the session, or the reason of a failure. It may
    ///     receive `unauthorized` at any later time.
    ///   - onlineCallback: A function that is called when the client is connected.
    ///   - offlineCallback: A function that is called when the connection is lost. Streams may continue.
    public func start(
        _ authenticationToken: String,
        authenticationCallback: @escaping @Sendable (PCast, RequestStatus, SessionID?) -> Void,
        onlineCallback: @escaping @Sendable (PCast) -> Void,
        offlineCallback: @escaping @Sendable (PCast) -> Void
    ) {
        let (events, notifier) = AsyncStream.makeStream(
            of: PCastEvent.self, bufferingPolicy: .bufferingNewest(EventBroadcaster<PCastEvent>.bufferLimit))
        // The client is retained until the first callback, so that it is called even if the application has released
        // the client.
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
        // A start that is refused at once is no event of the session, which may continue.
        if let refusal = begin(authenticationToken, notifier: notifier) {
            notifier.yield(.authenticated(refusal.status, nil))
            notifier.finish()
        }
    }

    /// Ends all streams and the session, and calls back once afterwards.
    public func stop(_ stoppedCallback: @escaping @Sendable (PCast) -> Void) {
        Task {
            await stop()
            stoppedCallback(self)
        }
    }

    /// Calls back once with the sources of this machine, the best first. The list is empty if it cannot be read.
    public func enumerateSourceDevices(
        _ mediaType: MediaType, _ callback: @escaping @Sendable (PCast, [SourceDeviceInfo]) -> Void
    ) {
        Task { callback(self, (try? await enumerateSourceDevices(mediaType)) ?? []) }
    }

    /// Opens sources and calls back once with the stream, or with the reason of a failure.
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

    /// Publishes a stream and calls back once with the publisher, or with the reason of a failure.
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

    /// Subscribes to a stream and calls back once with it, or with the reason of a failure.
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

/// Retains the client until its first callback.
private final class Holder: Sendable {
    let pcast: Mutex<PCast?>

    init(_ pcast: PCast) { self.pcast = Mutex(pcast) }
}
