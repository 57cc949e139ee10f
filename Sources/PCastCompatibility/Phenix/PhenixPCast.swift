public import PCast
import Synchronization

/// A client of a platform by Phenix's calls (seed 004: `PhenixPCast`): first initialized, then started. What is asked of one
/// that is not initialized is answered `notInitialized`.
///
/// Callbacks come one after another, on no thread in particular.
public final class PhenixPCast: Sendable {
    public typealias AuthenticationCallback = @Sendable (PhenixPCast, PhenixRequestStatus, String?) -> Void
    public typealias StateCallback = @Sendable (PhenixPCast) -> Void
    public typealias DevicesCallback = @Sendable (PhenixPCast, [PhenixSourceDeviceInfo]) -> Void
    public typealias UserMediaCallback =
        @Sendable (PhenixPCast, PhenixRequestStatus, PhenixUserMediaStream?) -> Void
    public typealias PublishCallback = @Sendable (PhenixPCast, PhenixRequestStatus, PhenixPublisher?) -> Void
    public typealias SubscribeCallback = @Sendable (PhenixPCast, PhenixRequestStatus, PhenixMediaStream?) -> Void
    public typealias LogCallback = @Sendable (PhenixPCast, PhenixRequestStatus, String?) -> Void

    private struct State {
        /// Nil before it is initialized; the reason where it cannot be.
        var client: Result<PCast, PCastError>?
        /// What was asked to end before is awaited by what is asked to end next.
        var ending: Task<Void, Never>?
    }

    private let uri: String?
    private let state = Mutex(State())

    init(uri: String?) { self.uri = uri }

    // MARK: The session

    public func initialize() { initialize(PhenixPCastInitializeOptions()) }

    /// Options that cannot be are told by the authentication callback, as `badRequest`.
    public func initialize(_ options: PhenixPCastInitializeOptions!) {
        let client: Result<PCast, PCastError>
        do throws(PCastError) {
            client = .success(PCast(try (options ?? PhenixPCastInitializeOptions()).options(uri: uri)))
        } catch {
            client = .failure(error)
        }
        state.withLock { $0.client = $0.client ?? client }
    }

    /// The session; nil before authentication, and after `stop`.
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

    /// Ends all streams and the session; it may be started again.
    public func stop() { end { await $0.stop() } }

    /// Stops for good.
    public func shutdown() { end { await $0.shutdown() } }

    private func end(_ body: @escaping @Sendable (PCast) async -> Void) {
        state.withLock { state in
            guard case .success(let client)? = state.client else { return }
            state.ending = Task { [ending = state.ending] in
                await ending?.value
                await body(client)
            }
        }
    }

    /// What was asked for, with the client, or why there is none.
    private func client(else refused: @escaping @Sendable (PhenixRequestStatus) -> Void) -> PCast? {
        switch state.withLock({ $0.client }) {
        case .success(let client): return client
        case .failure(let error): Task { refused(error.status) }
        case nil: Task { refused(.notInitialized) }
        }
        return nil
    }

    // MARK: Sources

    /// The sources of this machine, the best first. Needs no client, and so no `initialize`.
    public func enumerateSourceDevices(_ callback: @escaping DevicesCallback, _ mediaType: PhenixMediaType) {
        PCast().enumerateSourceDevices(mediaType) { callback(self, $1) }
    }

    public func getUserMedia(_ options: PhenixUserMediaOptions!, _ callback: @escaping UserMediaCallback) {
        client(else: { callback(self, $0, nil) })?
            .getUserMedia((options ?? PhenixUserMediaOptions()).options) { callback(self, $1, $2) }
    }

    // MARK: Streams

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

    public func subscribe(_ streamToken: String!, _ callback: @escaping SubscribeCallback) {
        client(else: { callback(self, $0, nil) })?
            .subscribe(streamToken: streamToken ?? "") { callback(self, $1, $2) }
    }

    public func collectLogMessages(_ callback: @escaping LogCallback) {
        client(else: { callback(self, $0, nil) })?.collectLogMessages { callback(self, $1, $2) }
    }
}
