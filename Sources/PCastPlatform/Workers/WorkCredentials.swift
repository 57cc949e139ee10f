import Synchronization

/// The credentials of this platform's own workers: each is known here and to one process, and good for one stream as
/// long as that is worked on.
final class WorkCredentials: Sendable {
    private let grants = Mutex<[String: Grant]>([:])

    /// Makes one.
    func issue(_ grant: Grant) -> String {
        let credential = RandomIdentifier.make(prefix: "work-")
        grants.withLock { $0[credential] = grant }
        return credential
    }

    func revoke(_ credential: String) { _ = grants.withLock { $0.removeValue(forKey: credential) } }

    /// Nil for what is none. The table's own secret hashing tells nobody how near a guess was.
    func grant(_ credential: String) -> Grant? { grants.withLock { $0[credential] } }
}
