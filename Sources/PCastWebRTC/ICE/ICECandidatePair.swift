import PCastCore

/// A candidate pair and its current check (RFC 8445, section 6.1.2).
struct ICECandidatePair: Sendable {
    /// The state of the pair (RFC 8445, section 6.1.2.6), with two more for TCP.
    enum State: Sendable {
        /// The connection of a TCP pair has not been requested, or was closed.
        case unopened

        /// The driver opens the connection.
        case opening
        case waiting
        case inProgress
        case succeeded
        case failed
    }

    /// A connectivity check, which is one transaction with retransmissions.
    struct Check: Sendable {
        let transactionID: STUNTransactionID
        let role: STUNMessage.Role
        /// Whether the request has USE-CANDIDATE.
        let nominates: Bool
        /// The number of transmissions so far.
        var tries = 0
        var firstSent: Instant
        var nextSend: Instant
    }

    /// The addresses of the pair. The connection number of a TCP path is valid only after it is open.
    var path: NetworkPath
    let isTCP: Bool

    /// The priority of the pair (RFC 8445, section 6.1.2.3).
    let priority: UInt64

    var state: State
    /// The check in progress; nil if there is none.
    var check: Check?

    /// Whether an authenticated request of the peer arrived on this pair.
    var hasPeerRequest = false

    /// Whether the peer, as the controlling agent, has nominated the pair.
    var isNominatedByPeer = false

    init(path: NetworkPath, isTCP: Bool, priority: UInt64) {
        self.path = path
        self.isTCP = isTCP
        self.priority = priority
        state = isTCP ? .unopened : .waiting
    }

    /// Returns the priority of a pair from those of its candidates (RFC 8445, section 6.1.2.3).
    static func priority(controlling: UInt32, controlled: UInt32) -> UInt64 {
        UInt64(min(controlling, controlled)) << 32 + UInt64(max(controlling, controlled)) * 2
            + (controlling > controlled ? 1 : 0)
    }

    /// Returns whether a datagram on another path belongs to the pair. If the local address of the pair is unspecified,
    /// because the socket is bound to any address, each local address matches.
    func matches(_ other: NetworkPath) -> Bool {
        guard path.remote == other.remote, path.transport == other.transport else { return false }
        guard !isTCP || (state != .unopened && state != .opening) else { return false }
        return path.local == other.local || (path.local.ip.isUnspecified && path.local.port == other.local.port)
    }
}
