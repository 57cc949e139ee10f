import PCastEdgeAuth
import PCastMedia

/// Who began a session, as its token tells: nobody else resumes it, whatever session ID they know.
struct SessionOwner: Hashable, Sendable {
    /// What the token that began it tells of its owner: see `Grant.publisher`. Nil where it is not known, which is a session
    /// of an earlier version's.
    let identity: String?
    /// The session that the token is for, and for no other; a renewed token of the same owner names it.
    let session: SessionID?

    init(_ grant: Grant) {
        identity = grant.work.map { "worker of \($0.stream)" } ?? grant.publisher ?? ""
        session = grant.token?.sessionID.map { SessionID($0) }
    }

    init(identity: String?) {
        self.identity = identity
        session = nil
    }

    /// Whether who has this token may resume a session that `beginner` began.
    func mayResume(_ id: SessionID, begunBy beginner: String?) -> Bool {
        session == id || beginner == nil || beginner == identity
    }
}
