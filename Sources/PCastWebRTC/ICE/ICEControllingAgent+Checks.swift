package import PCastCore

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
        _ check: ICECandidatePair.Check, isTCP: Bool, into buffer: UnsafeMutableRawBufferPointer
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
