import Synchronization

/// The tokens of this platform's ingest and egress jobs. Each is known only here and to one process, and is valid for
/// one stream while its job runs.
final class JobCredentials: Sendable {
    private let grants = Mutex<[String: Principal]>([:])

    /// Creates a token.
    func issue(_ grant: Principal) -> String {
        let credential = RandomIdentifier.make(prefix: "work-")
        grants.withLock { $0[credential] = grant }
        return credential
    }

    func revoke(_ credential: String) { _ = grants.withLock { $0.removeValue(forKey: credential) } }

    /// Returns the client that a token represents; nil if it is invalid. The randomly seeded hashing of the table
    /// prevents timing attacks.
    func grant(_ credential: String) -> Principal? { grants.withLock { $0[credential] } }
}
