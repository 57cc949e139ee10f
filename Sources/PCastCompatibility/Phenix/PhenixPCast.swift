public import PCast
import PCastPlayback
import Synchronization

/// A client of a platform with Phenix's functions (Phenix: `PhenixPCast`). It is first initialized and then started.
/// Requests to a client that is not initialized fail with `notInitialized`.
///
/// Callbacks are sequential, but on no particular thread.
public final class PhenixPCast: Sendable {
    /// A callback with the result of the authentication and the ID of the session.
    public typealias AuthenticationCallback = @Sendable (PhenixPCast, PhenixRequestStatus, String?) -> Void
    /// A callback for a change of the connection.
    public typealias StateCallback = @Sendable (PhenixPCast) -> Void
    /// A callback with source devices.
    public typealias DevicesCallback = @Sendable (PhenixPCast, [PhenixSourceDeviceInfo]) -> Void
    /// A callback with the stream of the sources, or the reason of a failure.
    public typealias UserMediaCallback =
        @Sendable (PhenixPCast, PhenixRequestStatus, PhenixUserMediaStream?) -> Void
    /// A callback with the publisher, or the reason of a failure.
    public typealias PublishCallback = @Sendable (PhenixPCast, PhenixRequestStatus, PhenixPublisher?) -> Void
    /// A callback with the subscribed stream, or the reason of a failure.
    public typealias SubscribeCallback = @Sendable (PhenixPCast, PhenixRequestStatus, PhenixMediaStream?) -> Void
    /// A callback with log lines, or the reason of a failure.
    public typealias LogCallback = @Sendable (PhenixPCast, PhenixRequestStatus, String?) -> Void

    private struct State {
        /// The client, or the reason why there is none; nil before initialization.
        var client: Result<PCast, PCastError>?
        /// The task of the last stop or shutdown, for which the next one waits.
        var ending: Task<Void, Never>?
    }

    private let uri: String?
    private let state = Mutex(State())

    init(uri: String?) { self.uri = uri }

    // MARK: Session

    /// Initializes the client with the default options.
    public func initialize() { initialize(PhenixPCastInitializeOptions()) }

    /// Initializes the client. Invalid options are reported by the authentication callback as `badRequest`.
    public func initialize(_ options: PhenixPCastInitializeOptions!) {
        let client: Result<PCast, PCastError>
        do throws(PCastError) {
            client = .success(PCast(try (options ?? PhenixPCastInitializeOptions()).options(uri: uri)))
        } catch {
            client = .failure(error)
        }
        state.withLock { $0.client = $0.client ?? client }
    }

    /// The ID of the session; nil before authentication, and after `stop`.
    public var sessionId: String! { (try? state.withLock { $0.client }?.get())?.sessionID?.description }

    /// Connects and authenticates.
    public func start(
        _ authenticationToken: String!, _ authenticationCallback: @escaping AuthenticationCallback,
        _ onlineCallback: @escaping StateCallback, _ offlineCallback: @escaping StateCallback
    ) {
        client(else: { authenticationCallback(self, $0, nil) })?.start(
            authenticationToken ?? "",
            authenticationCallback: { authenticationCallback(self, $1, $2?.description) },
            onlineCallback: { _ in onlineCallback(self) }, offlineCallback: { _ in offlineCallback(self) })
    }

    /// Ends all streams and the session. It may be started again.
    public func stop() { end { await $0.stop() } }

    /// Ends all streams and the session permanently.
    public func shutdown() { end { await $0.shutdown() } }

    /// Ends the session after earlier stops.
    private func end(_ body: @escaping @Sendable (PCast) async -> Void) {
        state.withLock { state in
            guard case .success(let client)? = state.client else { return }
            state.ending = Task { [ending = state.ending] in
                await ending?.value
                await body(client)
            }
        }
    }

    /// Returns the client; nil if there is none, in which case `refused` receives the reason.
    private func client(else refused: @escaping @Sendable (PhenixRequestStatus) -> Void) -> PCast? {
        switch state.withLock({ $0.client }) {
        case .success(let client): return client
        case .failure(let error): Task { refused(error.status) }
        case nil: Task { refused(.notInitialized) }
        }
        return nil
    }

    // MARK: Sources

    /// Calls back with the sources of this machine, the best first. It needs no initialized client.
    public func enumerateSourceDevices(_ callback: @escaping DevicesCallback, _ mediaType: PhenixMediaType) {
        PCast().enumerateSourceDevices(mediaType) { callback(self, $1) }
    }

    /// Opens sources and calls back with their stream, or with the reason of a failure.
    public func getUserMedia(_ options: PhenixUserMediaOptions!, _ callback: @escaping UserMediaCallback) {
        client(else: { callback(self, $0, nil) })?
            .getUserMedia((options ?? PhenixUserMediaOptions()).options) { callback(self, $1, $2) }
    }

    // MARK: Streams

    /// Publishes a stream and calls back with its publisher, or with the reason of a failure.
    public func publish(
        _ streamToken: String!, _ mediaStream: PhenixMediaStream!, _ callback: @escaping PublishCallback,
        _ tags: [String]! = []
    ) {
        guard let mediaStream else {
            Task { callback(self, .badRequest, nil) }
            return
        }
        client(else: { callback(self, $0, nil) })?
            .publish(streamToken: streamToken ?? "", mediaStream: mediaStream, tags: tags ?? []) {
                callback(self, $1, $2)
            }
    }

    /// Subscribes to a stream and calls back with it, or with the reason of a failure.
    public func subscribe(_ streamToken: String!, _ callback: @escaping SubscribeCallback) {
        client(else: { callback(self, $0, nil) })?
            .subscribe(streamToken: streamToken ?? "") { callback(self, $1, $2) }
    }

    /// Calls back with the newest lines of the client's log.
    public func collectLogMessages(_ callback: @escaping LogCallback) {
        client(else: { callback(self, $0, nil) })?.collectLogMessages { callback(self, $1, $2) }
    }
}

/// Creates clients (Phenix: `PhenixPCastFactory`).
public enum PhenixPCastFactory {
    /// Returns a client of the platform in the authentication token.
    public static func createPCast() -> PhenixPCast! { PhenixPCast(uri: nil) }

    /// Returns a client of the platform with this address; nil for the one in the authentication token.
    public static func createPCast(_ pcastUri: String!) -> PhenixPCast! { PhenixPCast(uri: pcastUri) }
}

/// The options of a client (Phenix: `PhenixPCastInitializeOptions`).
public final class PhenixPCastInitializeOptions {
    /// Whether the client ends its streams on SIGINT and SIGTERM.
    public var enableProcessTerminationSignalHandling = false
    /// Whether the client logs.
    public var configureLogging = false
    /// The redirection of playlist requests; nil for none.
    public var streamingSourceMapping: PhenixStreamingSourceMapping?

    /// Creates the default options.
    public init() {}

    /// Returns the options of ``PCast``. Throws an error if they are invalid.
    func options(uri: String?) throws(PCastError) -> PCastOptions {
        var options = PCastOptions(
            uri: uri, processTerminationSignalHandling: enableProcessTerminationSignalHandling,
            streamingSourceMapping: try streamingSourceMapping?.mapping(), streamingClient: .hls)
        if configureLogging { options.configureLogging(true) }
        return options
    }
}

/// A redirection of playlist requests (Phenix: `PhenixStreamingSourceMapping`).
public final class PhenixStreamingSourceMapping {
    /// The regular expression whose first match in an address is replaced.
    public var patternToReplace = ""
    /// The literal text that replaces the match.
    public var replacement = ""

    /// Creates an empty redirection.
    public init() {}

    /// Returns the redirection of ``PCast``. Throws an error if it is invalid.
    func mapping() throws(PCastError) -> StreamingSourceMapping {
        try StreamingSourceMapping(patternToReplace: patternToReplace, replacement: replacement)
    }
}
