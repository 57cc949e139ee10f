import PCastMedia

/// What is known of somebody at a door before any token is read.
struct Visitor: Sendable {
    /// Nil when the connection is gone already.
    var address: IPAddress?
    var sessionID: SessionID?
    /// The connection comes from this machine, and not from a page of another site.
    var isOnThisMachine: Bool
}
