import PCastCluster
import PCastCore
import PCastEdgeAuth
import PCastIO
import Synchronization

/// The tokens that are not valid any more, by the fingerprints of their content, or by those of the identifiers of JSON Web
/// Tokens. The nodes of a cluster have the same ones.
///
/// Each node keeps a revocation for a duration that begins when it receives it, so that no node's time of day is used.
final class TokenRevocations: Sendable {
    /// The maximum number of revocations that were requested at this platform and whose tokens have not expired.
    static let capacity = 65_536

    /// The times until which the tokens are revoked.
    private let own = Mutex<[String: Instant]>([:])
    /// The cluster that receives the revocations; nil without one.
    let cluster = Setting<Cluster?>(nil)

    /// Returns the key of the revocation of a JSON Web Token with an identifier (`jti`).
    static func key(ofJSONWebToken id: String, _ application: ApplicationID) -> String {
        DigestTokens.fingerprint(of: "jti\u{0}\(application)\u{0}\(id)")
    }

    /// Revokes a token.
    ///
    /// - Parameters:
    ///   - fingerprint: The key of the revocation.
    ///   - lifetime: The time until the token expires.
    /// - Returns: False if there are too many revocations.
    func revoke(_ fingerprint: String, for lifetime: TimeSpan) -> Bool {
        let now = MonotonicClock.now()
        let end = own.withLock { own -> Instant? in
            if own.count >= Self.capacity { own = own.filter { now < $0.value } }
            guard own.count < Self.capacity || own[fingerprint] != nil else { return nil }
            // A later revocation does not shorten an earlier one.
            let end = max(own[fingerprint] ?? now, now + lifetime)
            own[fingerprint] = end
            return end
        }
        guard let end else { return false }
        let seconds = Int64((end - now).seconds.rounded(.up))
        cluster.value?.revoke(
            TokenRevocation(token: fingerprint, lifetime: min(max(1, seconds), TokenRevocation.maximumLifetime)))
        return true
    }

    /// Returns whether a token is revoked. It answers from memory.
    func contains(_ fingerprint: String) -> Bool {
        if let end = own.withLock({ $0[fingerprint] }), MonotonicClock.now() < end { return true }
        return cluster.value?.isRevoked(fingerprint) ?? false
    }
}
