public import PCastMedia

/// The client's end of ICE (RFC 8445): a full agent, in control, that needs one round trip against a lite server.
///
/// Its very first check nominates, and the first pair that succeeds is selected. It trickles: candidates may come at
/// any time. The driver's contract is that of `Machine`: after each call `poll(into:at:)`, `pollConnection()` and
/// `takePathToClose()` until nil; `advance(to:)` when `deadline` has come.
public struct ICEControllingAgent: Sendable {
    /// What an agent as a whole has come to, as in W3C WebRTC, section 5.6.4.
    public enum State: Sendable { case new, checking, connected, disconnected, failed }

    /// Candidates of the peer beyond these are ignored.
    public static let maximumRemoteCandidates = 32

    /// Pairs beyond these are ignored.
    public static let maximumPairs = 64

    /// Our addresses beyond these are ignored.
    public static let maximumLocalAddresses = 8

    public internal(set) var local: ICECredentials
    public internal(set) var remote: ICECredentials
    public internal(set) var state = State.new

    /// The pair that everything is sent by; nil before the first success.
    public var selectedPath: NetworkPath? { selected.map { pairs[$0].path } ?? heldPath }

    /// Of the latest check that tells it.
    public internal(set) var roundTrip: TimeSpan?

    /// Our address as the peer sees it, from the latest answer.
    public internal(set) var reflexiveAddress: TransportAddress?

    public internal(set) var consent = ICEConsent()

    /// Set while the call ought to hear something all the time, so that silence of 300 ms makes it check its pair at
    /// once (ICE7).
    public var expectsMedia = false

    var isControlling = true
    let tieBreaker: UInt64
    var generator: TransactionIDGenerator
    var localAddresses: [TransportAddress]
    var remoteCandidates: [ICECandidate] = []
    var pairs: [ICECandidatePair] = []

    /// Index into `pairs`.
    var selected: Int?

    /// The path of before a restart, used until the first success of after it (ICE12).
    var heldPath: NetworkPath?

    /// Our credentials of before a restart: the peer's checks of then are still answered.
    var previousLocal: ICECredentials?
    var pathsToClose: [NetworkPath] = []

    /// When the next check of an unselected pair may be sent.
    var nextPaced: Instant?

    /// When stream connections are tried, should datagrams have led to nothing.
    var fallback: Instant?
    var setupDeadline: Instant?

    /// When the selected pair is checked again.
    var nextKeepalive: Instant?

    /// Connections may be opened.
    var wantsConnections = false

    /// The moment from which silence is counted.
    var quietSince: Instant?

    /// `seed` and `tieBreaker` are random numbers of the caller's; `addresses` are those our sockets are bound to.
    public init(
        local: ICECredentials, remote: ICECredentials, tieBreaker: UInt64, addresses: [TransportAddress], seed: UInt64
    ) {
        self.local = local
        self.remote = remote
        self.tieBreaker = tieBreaker
        generator = TransactionIDGenerator(seed: seed)
        localAddresses = Array(addresses.prefix(Self.maximumLocalAddresses))
    }

    /// Whether the peer has authenticated itself on this path (ICE2).
    public func isValidated(_ path: NetworkPath) -> Bool {
        path == heldPath || pairs.contains { ($0.state == .succeeded || $0.hasHeardPeer) && $0.matches(path) }
    }

    /// Any packet at all came by a path of the peer's: silence is counted from now on.
    public mutating func noteReceived(at now: Instant) { quietSince = now }

    /// A packet that the peer authenticated came: consent is extended.
    public mutating func noteAuthenticated(at now: Instant) {
        quietSince = now
        consent.extend(at: now)
        if state == .disconnected, selectedPath != nil { state = .connected }
    }
}

// MARK: - Candidates

extension ICEControllingAgent {
    /// Adds a candidate of the peer's. Ignored are names (ICE8), components other than the first, TCP ones that
    /// would connect to us, duplicates, and any above `maximumRemoteCandidates`.
    public mutating func addRemoteCandidate(_ candidate: ICECandidate, at now: Instant) {
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

    /// The addresses of our sockets are these from now on. Where the selected one is gone all others are tried at once,
    /// and so is a new one where nothing is known to work.
    public mutating func setLocalAddresses(_ addresses: [TransportAddress], at now: Instant) {
        let addresses = Array(addresses.prefix(Self.maximumLocalAddresses))
        let gone = localAddresses.filter { !addresses.contains($0) }
        localAddresses.removeAll { gone.contains($0) }
        let isCut = dropPairs(of: gone)
        for address in addresses where !localAddresses.contains(address) { localAddresses.append(address) }
        for candidate in remoteCandidates { pair(candidate, at: now) }
        if isCut { checkOthers(at: now) }
    }

    /// Answers whether the way that was in use is among them.
    private mutating func dropPairs(of gone: [TransportAddress]) -> Bool {
        let isGone = { (path: NetworkPath) in gone.contains { $0.ip == path.local.ip } }
        let isCut = selectedPath.map(isGone) ?? false
        for pair in pairs where isGone(pair.path) && isOpenConnection(pair) { closeLater(pair.path) }
        if let path = heldPath, isGone(path) { heldPath = nil }
        let kept = selected.map { pairs[$0].path }
        pairs.removeAll { !$0.isTCP && isGone($0.path) }
        for index in pairs.indices where isGone(pairs[index].path) {
            pairs[index].state = .unopened
            pairs[index].check = nil
            pairs[index].hasHeardPeer = false
        }
        selected = isCut ? nil : kept.flatMap { path in pairs.firstIndex { $0.path == path } }
        return isCut
    }

    mutating func begin(at now: Instant) {
        guard state == .new else { return }
        state = .checking
        setupDeadline = now + ICETimers.setup
        fallback = now + ICETimers.fallback
    }

    private mutating func pair(_ candidate: ICECandidate, at now: Instant) {
        guard let address = candidate.transportAddress else { return }
        if case .tcp = candidate.transport {
            // The driver picks the local end of a connection.
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

    /// Answers the index of the new pair, or of the one that is there; nil when there are too many.
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
        if !isTCP, selected == nil || isSelectedSuspect { beginCheck(pairs.count - 1, at: now) }
        return pairs.count - 1
    }
}
