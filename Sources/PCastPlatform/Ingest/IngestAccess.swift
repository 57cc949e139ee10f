import Logging
import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastIO
import Synchronization

/// The authentication of publishers in this process by the keys that they send.
///
/// Wrong and valid keys take the same time, and an address that sends many wrong keys must wait.
final class IngestAccess: Sendable {
    /// The time after which a publisher is answered. It is longer than any check of a key.
    static let answerTime = Duration.milliseconds(50)
    private let authenticator: TokenAuthenticator
    private let limiter: RequestLimiter
    private let records: Records
    private let logger: Logger
    private let attempts = Mutex(LoginAttempts())
    /// The stream keys in memory; nil unless ``loadKeys()`` was called.
    private let index = Mutex<StreamKeyIndex?>(nil)

    init(authenticator: TokenAuthenticator, limiter: RequestLimiter, records: Records, logger: Logger) {
        self.authenticator = authenticator
        self.limiter = limiter
        self.records = records
        self.logger = logger
    }

    /// Authenticates a publisher by its key, which is a stream key of an application, or a token. A client of this host
    /// needs no key if the platform listens on loopback.
    ///
    /// - Throws: ``APIError``.
    func identify(
        _ key: String, from ip: IPAddress?, at now: Instant
    ) async throws(APIError) -> (Principal, ClientContext) {
        try checkAttempts(of: ip, at: now)
        let client = ClientContext(connectionFrom: ip, isTrustedProxy: limiter.isTrustedProxy(ip))
        do throws(APIError) {
            let principal = try await principal(of: key, client)
            try authenticator.authorize(principal, for: .publish, clientContext: client)
            return (principal, client)
        } catch {
            throw noted(error, from: ip, at: now)
        }
    }

    /// Authenticates a publisher as ``identify(_:from:at:)`` does, but without waiting, by the keys in memory.
    ///
    /// - Throws: ``APIError``.
    func identifyAtOnce(_ key: String, from ip: IPAddress?, at now: Instant) throws(APIError) -> Principal {
        try checkAttempts(of: ip, at: now)
        let client = ClientContext(connectionFrom: ip, isTrustedProxy: limiter.isTrustedProxy(ip))
        do throws(APIError) {
            let principal: Principal
            if isToken(key) {
                principal = try authenticator.identify(key, clientContext: client)
            } else {
                guard let index = index.withLock({ $0 }) else { throw .keysUnavailable }
                guard let record = index.key(matching: key) else { throw .token("unknown stream key") }
                principal = try StreamKeyPrincipal.principal(of: record, by: authenticator, clientContext: client)
            }
            try authenticator.authorize(principal, for: .publish, clientContext: client)
            return principal
        } catch {
            throw noted(error, from: ip, at: now)
        }
    }

    /// Authenticates a viewer by its token, without waiting, and checks that it may view the requested stream, or else
    /// that of its token, or else any stream. A client of this host needs no token if the platform listens on loopback.
    ///
    /// - Throws: ``APIError``.
    func identifyViewer(
        _ token: String, viewing origin: StreamID?, among streams: AvailableStreams, from ip: IPAddress?,
        at now: Instant
    ) throws(APIError) -> (Principal, ClientContext) {
        try checkAttempts(of: ip, at: now)
        let client = ClientContext(connectionFrom: ip, isTrustedProxy: limiter.isTrustedProxy(ip))
        do throws(APIError) {
            let principal = try authenticator.identify(token, clientContext: client)
            try streams.authorize(principal, viewing: origin, clientContext: client, by: authenticator)
            return (principal, client)
        } catch {
            guard error.kind == .unauthorized else { throw error }
            attempts.withLock { $0.noteFailure(of: ip, at: now) }
            throw error
        }
    }

    /// Loads the stream keys for decisions that must not wait.
    func loadKeys() async {
        do throws(RecordsError) {
            let loaded = try await records.streamKeyIndex()
            index.withLock { $0 = loaded }
        } catch {
            logger.error("stream keys cannot be loaded", metadata: ["error": "\(error)"])
        }
    }

    /// Loads the stream keys again after a change, if they were loaded before.
    func keysChanged() async {
        if index.withLock({ $0 != nil }) { await loadKeys() }
    }

    private func checkAttempts(of ip: IPAddress?, at now: Instant) throws(APIError) {
        let wait = attempts.withLock { $0.wait(of: ip, at: now) }
        guard wait == .zero else { throw .tooManyFailures(retryAfter: wait) }
    }

    /// Counts a wrong key, and returns the error for the publisher.
    private func noted(_ error: APIError, from ip: IPAddress?, at now: Instant) -> APIError {
        guard error.kind == .unauthorized else { return error }
        attempts.withLock { $0.noteFailure(of: ip, at: now) }
        // The reason is for the log only, so that a revoked key cannot be distinguished from a wrong one.
        return APIError(.unauthorized, "The stream key is not valid: get a new one.", detail: error.detail)
    }

    /// Whether a key is a token, or absent. A job publishes by WebRTC, so its credential is no key.
    private func isToken(_ key: String) -> Bool { key.isEmpty || authenticator.hasForm(of: key) }

    private func principal(of key: String, _ client: ClientContext) async throws(APIError) -> Principal {
        if isToken(key) { return try await authenticator.identifyClient(key, from: client) }
        let record: StreamKeyRecord?
        do {
            record = try await records.streamKey(matching: key)
        } catch {
            logger.error("database unavailable", metadata: ["error": "\(error)"])
            throw .keysUnavailable
        }
        guard let record else { throw .token("unknown stream key") }
        return try StreamKeyPrincipal.principal(of: record, by: authenticator, clientContext: client)
    }
}

extension APIError {
    fileprivate static let keysUnavailable = APIError(
        .capacity, "The platform cannot check the stream key now: retry later.")
}
