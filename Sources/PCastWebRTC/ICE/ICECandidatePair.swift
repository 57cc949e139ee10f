import PCastMedia

/// One of our addresses with one of the peer's, and the check on it that is under way (RFC 8445, section 6.1.2).
struct ICECandidatePair: Sendable {
    enum State: Sendable {
        /// A TCP pair whose connection nobody has asked for, or which was closed.
        case unopened

        /// The driver was asked to connect.
        case opening
        case waiting
        case inProgress
        case succeeded
        case failed
    }

    /// A check that was begun: one transaction, however often it is sent.
    struct Check: Sendable {
        let transactionID: STUNTransactionID
        let role: STUNMessage.Role
        let nominates: Bool
        var tries = 0
        var firstSent: Instant
        var nextSend: Instant
    }

    /// For TCP, the connection's number counts only once it is open.
    var path: NetworkPath
    let isTCP: Bool

    /// RFC 8445, section 6.1.2.3.
    let priority: UInt64

    var state: State
    var check: Check?

    /// The peer authenticated itself here by a request of its own (ICE5).
    var hasHeardPeer = false

    /// The peer, being in control, nominated the pair.
    var isNominatedByPeer = false

    init(path: NetworkPath, isTCP: Bool, priority: UInt64) {
        self.path = path
        self.isTCP = isTCP
        self.priority = priority
        state = isTCP ? .unopened : .waiting
    }

    static func priority(controlling: UInt32, controlled: UInt32) -> UInt64 {
        UInt64(min(controlling, controlled)) << 32 + UInt64(max(controlling, controlled)) * 2
            + (controlling > controlled ? 1 : 0)
    }

    /// Whether a datagram by `other` belongs to the pair. A base whose address is left open (a socket bound to any)
    /// is met by each of our addresses.
    func matches(_ other: NetworkPath) -> Bool {
        guard path.remote == other.remote, path.transport == other.transport else { return false }
        guard !isTCP || (state != .unopened && state != .opening) else { return false }
        return path.local == other.local || (path.local.ip.isUnspecified && path.local.port == other.local.port)
    }
}
