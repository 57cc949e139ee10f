package import PCastCore

/// The ICE agent of a client: a full, controlling agent (RFC 8445) that needs one round trip to connect to a lite
/// server.
///
/// Its first checks nominate (aggressive nomination of RFC 5245, which a lite agent accepts), and the first pair that
/// succeeds is selected. Candidates may be added at any time (trickle ICE, RFC 8838). The driver follows the rules of
/// `Machine`: after each call it calls ``poll(into:at:)``, ``pollConnection()`` and ``takePathToClose()`` until each
/// returns nil, and ``advance(to:)`` at the ``deadline``.
package struct ICEControllingAgent: Sendable {
    /// The state of the agent (RTCIceTransportState, W3C WebRTC, section 5.6.4).
    package enum State: Sendable { case new, checking, connected, disconnected, failed }

    /// The maximum number of remote candidates; others are ignored.
    package static let maximumRemoteCandidates = 32

    /// The maximum number of candidate pairs; others are ignored.
    package static let maximumPairs = 64

    /// The maximum number of local addresses; others are ignored.
    package static let maximumLocalAddresses = 8

    /// The local credentials.
    package internal(set) var local: ICECredentials
    /// The credentials of the peer.
    package internal(set) var remote: ICECredentials
    /// The state of the agent.
    package internal(set) var state = State.new

    /// The path of the selected pair; nil before the first success.
    package var selectedPath: NetworkPath? { selected.map { pairs[$0].path } ?? heldPath }

    /// The round-trip time of the last check that measured it; nil before the first.
    package internal(set) var roundTrip: TimeSpan?

    /// The local address as the peer sees it in the last check (XOR-MAPPED-ADDRESS); nil before the first response.
    package internal(set) var reflexiveAddress: TransportAddress?

    /// The consent of the peer.
    package internal(set) var consent = ICEConsent()

    /// Whether packets are expected continuously, so that the selected pair is checked after 300 ms of silence.
    package var expectsMedia = false

    /// Whether the role is controlling, which a role conflict may change.
    var isControlling = true
    /// The tie-breaker for role conflicts (RFC 8445, section 16.1).
    let tieBreaker: UInt64
    var generator: TransactionIDGenerator
    var localAddresses: [TransportAddress]
    var remoteCandidates: [ICECandidate] = []
    var pairs: [ICECandidatePair] = []

    /// The index of the selected pair in `pairs`; nil if there is none.
    var selected: Int?

    /// The path before a restart, which is used until a check with the new credentials succeeds.
    var heldPath: NetworkPath?

    /// The local credentials before a restart, with which checks of the peer are still answered.
    var previousLocal: ICECredentials?
    /// The connections that the driver must close.
    var pathsToClose: [NetworkPath] = []

    /// The time at which the next check of an unselected pair may be sent.
    var nextPaced: Instant?

    /// The time at which TCP connections are tried if UDP has not worked; nil if none is scheduled.
    var fallback: Instant?
    /// The time at which the agent fails without a successful check.
    var setupDeadline: Instant?

    /// The time of the next regular check of the selected pair.
    var nextKeepalive: Instant?

    /// Whether connections may be opened.
    var wantsConnections = false

    /// The time from which silence counts; nil before the first packet.
    var quietSince: Instant?

    /// Creates an agent. `tieBreaker` and `seed` are random numbers, and `addresses` are those of the driver's sockets.
    package init(
        local: ICECredentials, remote: ICECredentials, tieBreaker: UInt64, addresses: [TransportAddress], seed: UInt64
    ) {
        self.local = local
        self.remote = remote
        self.tieBreaker = tieBreaker
        generator = TransactionIDGenerator(seed: seed)
        localAddresses = Array(addresses.prefix(Self.maximumLocalAddresses))
    }

    /// Returns whether the peer was authenticated on a path.
    package func isValidated(_ path: NetworkPath) -> Bool {
        path == heldPath || pairs.contains { ($0.state == .succeeded || $0.hasPeerRequest) && $0.matches(path) }
    }

    /// Records a media packet of the peer, which ends silence.
    package mutating func noteReceived(at now: Instant) { quietSince = now }

    /// Records an authenticated packet of the peer, which extends consent.
    package mutating func noteAuthenticated(at now: Instant) {
        quietSince = now
        consent.extend(at: now)
        if state == .disconnected, selectedPath != nil { state = .connected }
    }
}

// MARK: - Candidates

extension ICEControllingAgent {
    /// Adds a candidate of the peer. It is ignored if it has a host name or another component, is a TCP candidate that
    /// does not accept connections, is a duplicate, or exceeds ``maximumRemoteCandidates``.
    package mutating func addRemoteCandidate(_ candidate: ICECandidate, at now: Instant) {
        guard let address = candidate.transportAddress, candidate.component == 1, address.port != 0,
            remoteCandidates.count < Self.maximumRemoteCandidates, !remoteCandidates.contains(candidate)
        else { return }
        switch candidate.transport {
        case .udp, .tcp(.passive): remoteCandidates.append(candidate)
        case .tcp: return
        }
        begin(at: now)
        pair(candidate, at: now)
    }

    /// Sets the addresses of the driver's sockets. If the selected address has disappeared, all other pairs are checked
    /// at once.
    package mutating func setLocalAddresses(_ addresses: [TransportAddress], at now: Instant) {
        let addresses = Array(addresses.prefix(Self.maximumLocalAddresses))
        let removedAddresses = localAddresses.filter { !addresses.contains($0) }
        localAddresses.removeAll { removedAddresses.contains($0) }
        let isCut = dropPairs(of: removedAddresses)
        for address in addresses where !localAddresses.contains(address) { localAddresses.append(address) }
        for candidate in remoteCandidates { pair(candidate, at: now) }
        if isCut { checkOthers(at: now) }
    }

    /// Removes the pairs of addresses that have disappeared. Returns whether the selected path is among them.
    private mutating func dropPairs(of removedAddresses: [TransportAddress]) -> Bool {
        let isGone = { (path: NetworkPath) in removedAddresses.contains { $0.ip == path.local.ip } }
        let isCut = selectedPath.map(isGone) ?? false
        for pair in pairs where isGone(pair.path) && isOpenConnection(pair) { closeLater(pair.path) }
        if let path = heldPath, isGone(path) { heldPath = nil }
        let kept = selected.map { pairs[$0].path }
        pairs.removeAll { !$0.isTCP && isGone($0.path) }
        for index in pairs.indices where isGone(pairs[index].path) {
            pairs[index].state = .unopened
            pairs[index].check = nil
            pairs[index].hasPeerRequest = false
        }
        selected = isCut ? nil : kept.flatMap { path in pairs.firstIndex { $0.path == path } }
        return isCut
    }

    /// Starts the agent with the first candidate.
    mutating func begin(at now: Instant) {
        guard state == .new else { return }
        state = .checking
        setupDeadline = now + ICETimers.setup
        fallback = now + ICETimers.fallback
    }

    /// Forms the pairs of a remote candidate with all local addresses.
    private mutating func pair(_ candidate: ICECandidate, at now: Instant) {
        guard let address = candidate.transportAddress else { return }
        if case .tcp = candidate.transport {
            // The operating system chooses the local address of a connection.
            let any = address.ip.family == .v4 ? IPAddress.anyV4 : IPAddress(v6: 0, 0)
            let path = NetworkPath(
                transport: .tcp(connection: 0), local: TransportAddress(ip: any, port: 0), remote: address)
            let priority = ICECandidate.priority(.host, transport: .tcp(.active))
            addPair(path, priority: priority, remotePriority: candidate.priority, at: now)
            return
        }
        for (index, base) in localAddresses.enumerated() where base.ip.family == address.ip.family {
            let priority = ICECandidate.priority(.host, transport: .udp, preference: 65535 - UInt16(index))
            let path = NetworkPath(local: base, remote: address)
            addPair(path, priority: priority, remotePriority: candidate.priority, at: now)
        }
    }

    /// Adds a pair. Returns the index of the new or an equal pair; nil if there are too many.
    @discardableResult
    mutating func addPair(_ path: NetworkPath, priority: UInt32, remotePriority: UInt32, at now: Instant) -> Int? {
        let isTCP = path.transport != .udp
        let known = pairs.firstIndex {
            $0.isTCP == isTCP && $0.path.remote == path.remote && (isTCP || $0.matches(path))
        }
        if let known { return known }
        guard pairs.count < Self.maximumPairs else { return nil }
        let (controlling, controlled) = isControlling ? (priority, remotePriority) : (remotePriority, priority)
        let value = ICECandidatePair.priority(controlling: controlling, controlled: controlled)
        pairs.append(ICECandidatePair(path: path, isTCP: isTCP, priority: value))
        if !isTCP, selected == nil || isSelectedPairUnresponsive { beginCheck(pairs.count - 1, at: now) }
        return pairs.count - 1
    }
}
