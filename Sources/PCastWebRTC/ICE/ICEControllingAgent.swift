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

// MARK: - Time

extension ICEControllingAgent {
    /// The time at which ``advance(to:)`` and then ``poll(into:at:)`` must be called; nil in a new and a failed agent.
    package var deadline: Instant? {
        mutating get {
            guard state != .new, state != .failed else { return nil }
            var deadline: Instant?
            if consent.lastAuthenticated == nil { deadline = setupDeadline }
            if let last = consent.lastAuthenticated {
                deadline = last + (state == .disconnected ? ICEConsent.lifetime : ICEConsent.timeout)
            }
            deadline = Instant.earlier(deadline, fallback)
            for index in pairs.indices where index == selected || isChecking {
                guard let nextSend = pairs[index].check?.nextSend else { continue }
                deadline = Instant.earlier(
                    deadline, index == selected ? nextSend : max(nextSend, nextPaced ?? nextSend))
            }
            if let selected, pairs[selected].check == nil { deadline = Instant.earlier(deadline, nextSelectedCheck) }
            return deadline
        }
    }

    /// The time of the next check of the selected pair while none is in progress.
    private var nextSelectedCheck: Instant? {
        Instant.earlier(nextKeepalive, expectsMedia ? quietSince.map { $0 + ICETimers.silence } : nil)
    }

    /// Begins and ends checks that are due, and updates the state.
    package mutating func advance(to now: Instant) {
        guard state != .new, state != .failed else { return }
        endChecks(at: now)
        if let selected, pairs[selected].check == nil, let due = nextSelectedCheck, due <= now {
            beginCheck(selected, at: now)
        }
        if let fallback, fallback <= now {
            self.fallback = nil
            openConnections()
        }
        updateState(at: now)
    }

    /// Updates the state from the age of consent.
    private mutating func updateState(at now: Instant) {
        if consent.lastAuthenticated == nil {
            if let setupDeadline, setupDeadline <= now { state = .failed }
        } else if consent.hasExpired(at: now) {
            state = .failed
        } else if consent.isAway(at: now) {
            state = .disconnected
        }
    }

    /// Ends checks that have had their maximum number of transmissions. The selected pair does not fail by its checks
    /// alone, because media may show that the peer is alive; a new check begins.
    private mutating func endChecks(at now: Instant) {
        for index in pairs.indices {
            guard let check = pairs[index].check, check.nextSend <= now, check.tries >= maximumTries(index) else {
                continue
            }
            pairs[index].check = nil
            if index == selected {
                quietSince = now
                nextKeepalive = now + ICETimers.silence
            } else {
                if isOpenConnection(pairs[index]) { closeLater(pairs[index].path) }
                pairs[index].state = .failed
            }
        }
    }

    /// Returns the maximum number of transmissions of a check on a pair.
    private func maximumTries(_ index: Int) -> Int {
        index == selected || pairs[index].isTCP ? ICETimers.maximumConsentTries : ICETimers.maximumTries
    }
}

// MARK: - Checks

extension ICEControllingAgent {
    /// Whether checks of the selected pair are unanswered and nothing else was received from the peer.
    var isSelectedPairUnresponsive: Bool {
        guard let selected, state != .disconnected else { return selected != nil }
        guard let check = pairs[selected].check, check.tries >= ICETimers.unresponsiveTries else { return false }
        return consent.lastAuthenticated.map { $0 < check.firstSent } ?? true
    }

    /// Whether pairs other than the selected one are checked.
    var isChecking: Bool { selected == nil || isSelectedPairUnresponsive }

    /// Begins a check, which is due at once. A controlling agent nominates with it, so that a lite peer needs no second
    /// check.
    mutating func beginCheck(_ index: Int, at now: Instant) {
        let role: STUNMessage.Role =
            isControlling ? .controlling(tieBreaker: tieBreaker) : .controlled(tieBreaker: tieBreaker)
        pairs[index].check = ICECandidatePair.Check(
            transactionID: .random(using: &generator), role: role, nominates: isControlling, firstSent: now,
            nextSend: now)
        if pairs[index].state != .succeeded { pairs[index].state = .inProgress }
    }

    /// Writes the next check that is due into a buffer. Returns its size in bytes and its path; nil if none is due.
    package mutating func poll(
        into buffer: MutableByteView, at now: Instant
    ) -> (length: Int, path: NetworkPath)? {
        guard state != .new, state != .failed, let index = nextDue(at: now), var check = pairs[index].check else {
            return nil
        }
        if check.tries == 0 { check.firstSent = now }
        let timeout = pairs[index].isTCP ? ICETimers.streamTimeout : timeout(afterTries: check.tries)
        check.tries += 1
        check.nextSend = now + timeout
        pairs[index].check = check
        if index != selected { nextPaced = now + ICETimers.pacing }
        if index == selected, check.tries == ICETimers.unresponsiveTries, isSelectedPairUnresponsive {
            checkOthers(at: now)
        }
        return (write(check, isTCP: pairs[index].isTCP, into: buffer), pairs[index].path)
    }

    /// Returns the time until the next transmission of a check.
    private func timeout(afterTries tries: Int) -> TimeSpan {
        // The timeout is at least twice the measured round-trip time, so that a long path does not look like loss.
        let doubled = min(ICETimers.firstTimeout * (1 << Int64(tries)), ICETimers.longestTimeout)
        return max(doubled, (roundTrip ?? .zero) * 2)
    }

    /// Returns the index of the pair to check next: the selected one first, then those with the fewest transmissions,
    /// by priority.
    private func nextDue(at now: Instant) -> Int? {
        if let selected, let check = pairs[selected].check, check.nextSend <= now,
            check.tries < maximumTries(selected)
        {
            return selected
        }
        guard isChecking, nextPaced.map({ $0 <= now }) ?? true else { return nil }
        var best: Int?
        var fewest = Int.max
        for (index, pair) in pairs.enumerated() where index != selected {
            guard let check = pair.check, check.nextSend <= now, check.tries < maximumTries(index) else { continue }
            let isPreferred = best.map { pair.priority > pairs[$0].priority } ?? true
            guard check.tries < fewest || (check.tries == fewest && isPreferred) else { continue }
            best = index
            fewest = check.tries
        }
        return best
    }

    /// Writes a check as a binding request and returns its size in bytes.
    private func write(
        _ check: ICECandidatePair.Check, isTCP: Bool, into buffer: MutableByteView
    ) -> Int {
        var writer = STUNMessageWriter(.request, transactionID: check.transactionID, into: buffer)
        writer.addUsername(recipient: remote.ufragBytes, sender: local.ufragBytes)
        // The PRIORITY attribute is that of a peer-reflexive candidate that the check may discover (RFC 8445, section
        // 7.1.1).
        writer.addPriority(ICECandidate.priority(.peerReflexive, transport: isTCP ? .tcp(.active) : .udp))
        writer.addRole(check.role)
        if check.nominates { writer.addUseCandidate() }
        return writer.finish(key: remote.key)
    }

    /// Begins checks on all other pairs, because the selected pair does not answer.
    mutating func checkOthers(at now: Instant) {
        fallback = now + ICETimers.fallback
        wantsConnections = false
        for index in pairs.indices where index != selected {
            switch pairs[index].state {
            case .unopened, .opening: continue
            case .failed where pairs[index].isTCP: continue
            case .waiting, .inProgress, .succeeded, .failed: beginCheck(index, at: now)
            }
        }
    }

    /// Schedules the next check of the selected pair after 0.8 to 1.2 of the interval, which avoids synchronization of
    /// clients (RFC 7675, section 5.1).
    mutating func scheduleKeepalive(at now: Instant) {
        let fifth = ICETimers.keepalive.nanoseconds / 5
        let jitter = Int64.random(in: -fifth...fifth, using: &generator)
        nextKeepalive = now + ICETimers.keepalive + TimeSpan(nanoseconds: jitter)
    }
}
