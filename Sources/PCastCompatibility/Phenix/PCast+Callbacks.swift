public import PCast
import Synchronization

// The forms with callbacks of the SDK's functions. Each callback for a result is called exactly once, with `timeout` if
// there is no response. Those of `start` are called for each event. Callbacks are sequential and never on the caller's
// thread.
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
        let events = startEvents(authenticationToken)
        // The client is retained until the first callback, so that it is called even if the application has released
        // the client.
        let retainer = ClientRetainer(self)
        Task { [weak self] in
            for await event in events {
                guard let self = retainer.pcast.withLock({ $0 }) ?? self else { return }
                if case .authenticated = event { retainer.pcast.withLock { $0 = nil } }
                switch event {
                case .authenticated(let status, let session): authenticationCallback(self, status, session)
                case .online: onlineCallback(self)
                case .offline: offlineCallback(self)
                }
            }
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
        report(to: userMediaCallback) { () throws(PCastError) in try await self.getUserMedia(options) }
    }

    /// Publishes a stream and calls back once with the publisher, or with the reason of a failure.
    public func publish(
        streamToken: String, mediaStream: MediaStream, tags: [String] = [], options: PublishOptions = PublishOptions(),
        _ publishCallback: @escaping @Sendable (PCast, RequestStatus, Publisher?) -> Void
    ) {
        report(to: publishCallback) { () throws(PCastError) in
            try await self.publish(streamToken: streamToken, mediaStream: mediaStream, tags: tags, options: options)
        }
    }

    /// Subscribes to a stream and calls back once with it, or with the reason of a failure.
    public func subscribe(
        streamToken: String, streamID: StreamID? = nil,
        _ subscribeCallback: @escaping @Sendable (PCast, RequestStatus, MediaStream?) -> Void
    ) {
        report(to: subscribeCallback) { () throws(PCastError) in
            try await self.subscribe(streamToken: streamToken, streamID: streamID)
        }
    }

    /// Publishes a stream that the platform pulls from an address, and calls back once with the publisher, or with the
    /// reason of a failure.
    public func publishFromUri(
        streamToken: String, uri: String, tags: [String] = [], connectOptions: ConnectOptions = ConnectOptions(),
        _ publishCallback: @escaping @Sendable (PCast, RequestStatus, Publisher?) -> Void
    ) {
        report(to: publishCallback) { () throws(PCastError) in
            try await self.publishFromUri(
                streamToken: streamToken, uri: uri, tags: tags, connectOptions: connectOptions)
        }
    }

    /// Ends all streams because the application goes to the background, and calls back once afterwards.
    public func applicationBackground(_ callback: @escaping @Sendable (PCast) -> Void) {
        Task {
            await applicationBackground()
            callback(self)
        }
    }

    /// Calls back once with the newest lines of this client's log.
    public func collectLogMessages(
        _ callback: @escaping @Sendable (PCast, RequestStatus, _ messages: String) -> Void
    ) {
        Task { callback(self, .ok, collectLogMessages()) }
    }

    /// Calls back once with the value of an operation, or with the reason of its failure.
    private func report<Value: Sendable>(
        to callback: @escaping @Sendable (PCast, RequestStatus, Value?) -> Void,
        _ operation: @escaping @Sendable () async throws(PCastError) -> Value
    ) {
        Task {
            do throws(PCastError) {
                callback(self, .ok, try await operation())
            } catch {
                callback(self, error.status, nil)
            }
        }
    }
}

/// Retains the client until its first callback.
private final class ClientRetainer: Sendable {
    let pcast: Mutex<PCast?>

    init(_ pcast: PCast) { self.pcast = Mutex(pcast) }
}
