import PCastCore
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
    private let attempts = Mutex(LoginAttempts())

    init(authenticator: TokenAuthenticator, limiter: RequestLimiter) {
        self.authenticator = authenticator
        self.limiter = limiter
    }

    /// Authenticates a publisher by its key, which is a token. A client of this host needs no key if the platform listens
    /// on loopback.
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
            let principal = try authenticator.identify(address.key, clientContext: client)
            // A job publishes by WebRTC.
            guard principal.job == nil else { throw .token("the credential of a job") }
            try authenticator.authorize(principal, for: .publish, clientContext: client)
            return (principal, client)
        } catch {
            attempts.withLock { $0.noteFailure(of: ip, at: now) }
            // The reason is for the log only, so that a revoked key cannot be distinguished from a wrong one.
            throw APIError(.unauthorized, "The stream key is not valid: get a new one.", detail: error.detail)
        }
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
