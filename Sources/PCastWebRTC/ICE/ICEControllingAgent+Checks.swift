public import PCastMedia

// MARK: - Time

extension ICEControllingAgent {
    /// When `advance(to:)`, and `poll` after it, want to be called next; nil for a new agent and a failed one.
    public var deadline: Instant? {
        mutating get {
            guard state != .new, state != .failed else { return nil }
            var deadline: Instant?
            if consent.lastAuthenticated == nil { deadline = setupDeadline }
            if let last = consent.lastAuthenticated {
                deadline = last + (state == .disconnected ? ICEConsent.lifetime : ICEConsent.patience)
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

    /// When the selected pair, which no check is under way on, is checked next.
    private var nextSelectedCheck: Instant? {
        Instant.earlier(nextKeepalive, expectsMedia ? quietSince.map { $0 + ICETimers.silence } : nil)
    }

    public mutating func advance(to now: Instant) {
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

    private mutating func updateState(at now: Instant) {
        if consent.lastAuthenticated == nil {
            if let setupDeadline, setupDeadline <= now { state = .failed }
        } else if consent.hasExpired(at: now) {
            state = .failed
        } else if consent.isAway(at: now) {
            state = .disconnected
        }
    }

    /// Gives up checks that were sent often enough. The selected pair never fails by its own checks alone, since the
    /// peer may show otherwise that it lives (ICE5): it is checked again.
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

    private func maximumTries(_ index: Int) -> Int {
        index == selected || pairs[index].isTCP ? ICETimers.maximumConsentTries : ICETimers.maximumTries
    }
}

// MARK: - Checks

extension ICEControllingAgent {
    /// The selected pair leaves checks unanswered, and the peer says nothing else either.
    var isSelectedSuspect: Bool {
        guard let selected, state != .disconnected else { return selected != nil }
        guard let check = pairs[selected].check, check.tries >= ICETimers.suspectTries else { return false }
        return consent.lastAuthenticated.map { $0 < check.firstSent } ?? true
    }

    /// Whether other pairs than the selected one are checked.
    var isChecking: Bool { selected == nil || isSelectedSuspect }

    /// Begins a check: a new transaction, due at once. In control it nominates, so that a lite peer needs no second.
    mutating func beginCheck(_ index: Int, at now: Instant) {
        let role: STUNMessage.Role =
            isControlling ? .controlling(tieBreaker: tieBreaker) : .controlled(tieBreaker: tieBreaker)
        pairs[index].check = ICECandidatePair.Check(
            transactionID: .random(using: &generator), role: role, nominates: isControlling, firstSent: now,
            nextSend: now)
        if pairs[index].state != .succeeded { pairs[index].state = .inProgress }
    }

    /// Writes the next check that is due. Answers its size in bytes, and the way it goes.
    public mutating func poll(
        into buffer: UnsafeMutableRawBufferPointer, at now: Instant
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
        if index == selected, check.tries == ICETimers.suspectTries, isSelectedSuspect { checkOthers(at: now) }
        return (write(check, isTCP: pairs[index].isTCP, into: buffer), pairs[index].path)
    }

    private func timeout(afterTries tries: Int) -> TimeSpan {
        // A long way must not be taken for loss: twice the measured round trip at least.
        let doubled = min(ICETimers.firstTimeout * (1 << Int64(tries)), ICETimers.longestTimeout)
        return max(doubled, (roundTrip ?? .zero) * 2)
    }

    /// The selected pair goes first; then, in the order of priority, those sent least often.
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

    private func write(
        _ check: ICECandidatePair.Check, isTCP: Bool, into buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        var writer = STUNMessageWriter(.request, transactionID: check.transactionID, into: buffer)
        writer.addUsername(recipient: remote.ufragBytes, sender: local.ufragBytes)
        // What a pair found by the check would have as its priority (RFC 8445, section 7.1.1).
        writer.addPriority(ICECandidate.priority(.peerReflexive, transport: isTCP ? .tcp(.active) : .udp))
        writer.addRole(check.role)
        if check.nominates { writer.addUseCandidate() }
        return writer.finish(key: remote.key)
    }

    /// The selected pair seems dead: every other one gets another chance.
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

    /// 0.8 to 1.2 of the period, so that clients do not fall into step (RFC 7675, section 5.1).
    mutating func scheduleKeepalive(at now: Instant) {
        let fifth = ICETimers.keepalive.nanoseconds / 5
        let jitter = Int64.random(in: -fifth...fifth, using: &generator)
        nextKeepalive = now + ICETimers.keepalive + TimeSpan(nanoseconds: jitter)
    }
}
