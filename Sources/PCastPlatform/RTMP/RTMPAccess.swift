import Logging
import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastIO
import PCastRTMP
import Synchronization

/// The authentication of RTMP publishers by the keys of their addresses.
///
/// Wrong and valid keys take the same time, and an address that sends many wrong keys must wait.
final class RTMPAccess: Sendable {
    /// The time after which a publisher is answered. It is longer than any check of a key.
    static let answerTime = Duration.milliseconds(50)
    /// The application of addresses (`rtmp://HOST/ingest/KEY`), as at Phenix.
    static let application = "ingest"

    private let authenticator: TokenAuthenticator
    private let limiter: RequestLimiter
    private let records: Records
    private let logger: Logger
    private let attempts = Mutex(LoginAttempts())

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
        _ address: RTMPPublishAddress, from ip: IPAddress?, at now: Instant
    ) async throws(APIError) -> (Principal, ClientContext) {
        let wait = attempts.withLock { $0.wait(of: ip, at: now) }
        guard wait == .zero else { throw .tooManyFailures(retryAfter: wait) }
        guard address.application == Self.application else { throw .unknownRTMPApplication }
        let client = ClientContext(connectionFrom: ip, isTrustedProxy: limiter.isTrustedProxy(ip))
        do throws(APIError) {
            let principal = try await principal(of: address.key, client)
            try authenticator.authorize(principal, for: .publish, clientContext: client)
            return (principal, client)
        } catch {
            guard error.kind == .unauthorized else { throw error }
            attempts.withLock { $0.noteFailure(of: ip, at: now) }
            // The reason is for the log only, so that a revoked key cannot be distinguished from a wrong one.
            throw APIError(.unauthorized, "The stream key is not valid: get a new one.", detail: error.detail)
        }
    }

    private func principal(of key: String, _ client: ClientContext) async throws(APIError) -> Principal {
        // A job publishes by WebRTC, so its credential is no key.
        if key.isEmpty || DigestTokens.applicationID(of: key) != nil {
            return try authenticator.identify(key, clientContext: client)
        }
        let record: StreamKeyRecord?
        do {
            record = try await records.streamKey(matching: key)
        } catch {
            logger.error("database unavailable", metadata: ["error": "\(error)"])
            throw APIError(.capacity, "The platform cannot check the stream key now: retry later.")
        }
        guard let record else { throw .token("unknown stream key") }
        return try StreamKeyPrincipal.principal(of: record, by: authenticator, clientContext: client)
    }
}

extension APIError {
    fileprivate static let unknownRTMPApplication = APIError(
        .badRequest, "The address is not valid: use rtmp://HOST/ingest and the stream key.",
        detail: "unknown RTMP application")
}

extension RTMPStatus {
    /// Returns the status with which a publisher is rejected.
    init(_ error: APIError) {
        self =
            switch error.kind {
            case .unauthorized, .conflict, .badRequest: .badName(error.message)
            default: .rejected(error.message)
            }
    }

    /// Returns the status of a stream that ends at the platform.
    init(_ end: StreamEnd) {
        self =
            end.reason == .maintenance
            ? RTMPStatus(.error, "NetConnection.Connect.AppShutdown", "The platform is stopping: connect again soon.")
            : RTMPStatus(.error, "NetConnection.Connect.Closed", "The platform has ended the stream: \(end.wire).")
    }

    /// Returns the status of a problem with which the stream continues.
    static func warning(_ description: String) -> RTMPStatus {
        RTMPStatus(.warning, "NetStream.Publish.Warning", description)
    }
}
