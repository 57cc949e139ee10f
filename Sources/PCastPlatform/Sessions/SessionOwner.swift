import PCastCore
import PCastEdgeAuth

/// The owner of a session according to its token. Nobody else may resume the session, even if they know its identifier.
struct SessionOwner: Hashable, Sendable {
    /// The owner of the token that began the session, see `Principal.publisher`; nil for a session of an older version.
    let identity: String?
    /// The only session for which the token is valid; nil if it is not restricted. A renewed token of the same owner
    /// contains it.
    let session: SessionID?

    init(_ principal: Principal) {
        identity = principal.job.map { "worker of \($0.stream)" } ?? principal.publisher ?? ""
        session = principal.token?.sessionID.map { SessionID($0) }
    }

    init(identity: String?) {
        self.identity = identity
        session = nil
    }

    /// Returns whether the owner may resume a session that `beginner` began.
    func mayResume(_ id: SessionID, begunBy beginner: String?) -> Bool {
        session == id || beginner == nil || beginner == identity
    }
}
