import PCastCore
import PCastSignaling
import Synchronization

/// A request of a client for an ingest or egress job.
struct JobRequest: Sendable {
    let message: PCastCreateStream
    let principal: Principal
    let clientContext: ClientContext
    let session: SessionID

    /// The stream to push; nil for an ingest job.
    var origin: StreamID? {
        let named = message.hasOriginStreamID ? message.originStreamID : message.originStreamIds.first
        return named.map { StreamID($0) }
    }
}

/// The tokens of this platform's ingest and egress jobs. Each is known only here and to one process, and is valid for
/// one stream while its job runs.
final class JobCredentials: Sendable {
    private let principals = Mutex<[String: Principal]>([:])

    /// Creates a token.
    func issue(_ principal: Principal) -> String {
        let credential = RandomIdentifier.make(prefix: "work-")
        principals.withLock { $0[credential] = principal }
        return credential
    }

    func revoke(_ credential: String) { _ = principals.withLock { $0.removeValue(forKey: credential) } }

    /// Returns the client that a token represents; nil if it is invalid. The randomly seeded hashing of the table
    /// prevents timing attacks.
    func principal(_ credential: String) -> Principal? { principals.withLock { $0[credential] } }
}
