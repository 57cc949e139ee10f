public import PCastMedia

extension ICEControllingAgent {
    /// Takes in a STUN message that came by `path`, and writes the answer into `reply`, which holds
    /// `STUNMessage.maximumSize` bytes.
    public mutating func handle(
        _ bytes: Span<UInt8>, message: STUNMessage, from path: NetworkPath, at now: Instant,
        reply: UnsafeMutableRawBufferPointer
    ) -> ICEOutcome {
        guard message.fingerprint != .invalid else { return .rejected(.badFingerprint) }
        guard state != .failed else { return ICEOutcome() }
        switch message.messageClass {
        case .request: return handleRequest(bytes, message, from: path, at: now, reply: reply)
        case .success: return handleSuccess(bytes, message, from: path, at: now)
        case .error: return handleError(bytes, message, from: path, at: now)
        case .indication: return ICEOutcome()
        }
    }

    /// Restarts with new credentials (RFC 8445, section 9): media stays on the present path, and the peer's old
    /// checks are answered, until a check of the new kind succeeds (ICE12). Candidates of the peer are those of its new
    /// description; the address in use is tried first in any case.
    public mutating func restart(local: ICECredentials, remote: ICECredentials, at now: Instant) {
        let path = selectedPath
        for pair in pairs where isOpenConnection(pair) && pair.path != path { closeLater(pair.path) }
        previousLocal = self.local
        self.local = local
        self.remote = remote
        heldPath = state == .failed ? nil : path
        selected = nil
        pairs.removeAll(keepingCapacity: true)
        remoteCandidates.removeAll(keepingCapacity: true)
        if state == .failed || heldPath == nil {
            consent = ICEConsent()
            state = .checking
        }
        setupDeadline = now + ICETimers.setup
        fallback = now + ICETimers.fallback
        guard let path else { return }
        let transport: ICECandidate.Transport = path.transport == .udp ? .udp : .tcp(.active)
        let priority = ICECandidate.priority(.host, transport: transport)
        guard let index = addPair(path, priority: priority, remotePriority: priority, at: now) else { return }
        guard pairs[index].isTCP, heldPath != nil else { return }
        pairs[index].state = .waiting
        beginCheck(index, at: now)
    }
}

// MARK: - Requests

extension ICEControllingAgent {
    private mutating func handleRequest(
        _ bytes: Span<UInt8>, _ request: STUNMessage, from path: NetworkPath, at now: Instant,
        reply: UnsafeMutableRawBufferPointer
    ) -> ICEOutcome {
        let isCurrent = local.authenticate(request, bytes, from: remote)
        let isPrevious = !isCurrent && previousLocal.map { $0.authenticate(request, bytes, from: nil) } ?? false
        guard isCurrent || isPrevious, let key = isCurrent ? local.key : previousLocal?.key else {
            return ICEReply.refuse(request, into: reply)
        }
        if !request.unknownAttributes.isEmpty {
            let length = ICEReply.error(STUNErrorCode.unknownAttribute, to: request, key: key, into: reply)
            return .rejected(.unknownAttributes, replyLength: length)
        }
        guard resolveRoles(request) else {
            let length = ICEReply.error(STUNErrorCode.roleConflict, to: request, key: key, into: reply)
            return .rejected(.roleConflict, replyLength: length)
        }
        var outcome = ICEOutcome()
        outcome.isAuthenticated = true
        outcome.isNomination = request.usesCandidate && !isControlling
        outcome.replyLength = ICEReply.success(to: request, at: path.remote, key: key, into: reply)
        noteAuthenticated(at: now)
        if isCurrent {
            outcome.newlySelectedPath = noteCheck(request, from: path, isNomination: outcome.isNomination, at: now)
        }
        return outcome
    }

    /// RFC 8445, section 7.3.1.1: the larger tie-breaker keeps its role. False when the peer has to change.
    private mutating func resolveRoles(_ request: STUNMessage) -> Bool {
        switch request.role {
        case .controlling(let other) where isControlling:
            if tieBreaker >= other { return false }
            isControlling = false
        case .controlled(let other) where !isControlling:
            if tieBreaker < other { return false }
            isControlling = true
        case .controlling, .controlled, nil: break
        }
        return true
    }

    /// The peer checked a pair: it is alive there, and worth a check of ours (RFC 8445, section 7.3.1.4).
    private mutating func noteCheck(
        _ request: STUNMessage, from path: NetworkPath, isNomination: Bool, at now: Instant
    ) -> NetworkPath? {
        let known = pairs.firstIndex { $0.matches(path) }
        let priority = ICECandidate.priority(.host, transport: path.transport == .udp ? .udp : .tcp(.active))
        let found =
            known
            ?? (path.transport == .udp
                ? addPair(path, priority: priority, remotePriority: request.priority ?? 0, at: now) : nil)
        guard let index = found else { return nil }
        if state == .new { begin(at: now) }
        pairs[index].hasHeardPeer = true
        if isNomination {
            for other in pairs.indices { pairs[other].isNominatedByPeer = other == index }
            if pairs[index].state == .succeeded { return select(index, at: now) }
        }
        if pairs[index].check == nil, pairs[index].state != .succeeded, isChecking || isNomination {
            beginCheck(index, at: now)
        }
        return nil
    }
}

// MARK: - Answers

extension ICEControllingAgent {
    private func checkedPair(_ answer: STUNMessage, from path: NetworkPath) -> Int? {
        pairs.firstIndex { pair in
            guard let check = pair.check, check.tries > 0 else { return false }
            // An answer from another address than the check went to means nothing (RFC 8445, section 7.2.5.2.1).
            return check.transactionID == answer.transactionID && pair.matches(path)
        }
    }

    private mutating func handleSuccess(
        _ bytes: Span<UInt8>, _ answer: STUNMessage, from path: NetworkPath, at now: Instant
    ) -> ICEOutcome {
        guard let index = checkedPair(answer, from: path), let check = pairs[index].check else {
            return .rejected(.unexpectedAnswer)
        }
        guard answer.verifyIntegrity(bytes, key: remote.key) else { return .rejected(.unauthenticated) }
        let mayReplace = selected == nil || isSelectedSuspect
        pairs[index].path = path
        pairs[index].state = .succeeded
        pairs[index].check = nil
        reflexiveAddress = answer.mappedAddress ?? reflexiveAddress
        // The answer to a check that was sent again may be that to any of the tries, so that it tells least.
        if check.tries == 1 || roundTrip == nil { roundTrip = now - check.firstSent }
        consent.start(at: now)
        quietSince = now
        var outcome = ICEOutcome()
        outcome.isAuthenticated = true
        outcome.newlySelectedPath = settle(index, nominated: check.nominates, mayReplace: mayReplace, at: now)
        if selected != nil { state = .connected }
        return outcome
    }

    /// A check on the pair succeeded: selects it, or keeps what is selected.
    private mutating func settle(
        _ index: Int, nominated: Bool, mayReplace: Bool, at now: Instant
    ) -> NetworkPath? {
        if index == selected {
            scheduleKeepalive(at: now)
            return nil
        }
        let mayBeSelected = isControlling ? nominated : pairs[index].isNominatedByPeer
        if mayBeSelected, mayReplace || !isControlling { return select(index, at: now) }
        // A late answer: the peer, who follows the latest nomination, is told again which one counts.
        if let selected, nominated { beginCheck(selected, at: now) }
        return nil
    }

    mutating func select(_ index: Int, at now: Instant) -> NetworkPath? {
        let before = selectedPath
        selected = index
        heldPath = nil
        previousLocal = nil
        fallback = nil
        scheduleKeepalive(at: now)
        for other in pairs.indices where other != index && isOpenConnection(pairs[other]) {
            closeLater(pairs[other].path)
            pairs[other].state = .unopened
            pairs[other].check = nil
            pairs[other].hasHeardPeer = false
        }
        return before == pairs[index].path ? nil : pairs[index].path
    }

    /// Only 487 says something that is acted on: the others may be forged, or the peer may not know us yet.
    private mutating func handleError(
        _ bytes: Span<UInt8>, _ answer: STUNMessage, from path: NetworkPath, at now: Instant
    ) -> ICEOutcome {
        guard let index = checkedPair(answer, from: path), let check = pairs[index].check else {
            return .rejected(.unexpectedAnswer)
        }
        guard answer.verifyIntegrity(bytes, key: remote.key) else { return .rejected(.unauthenticated) }
        var outcome = ICEOutcome()
        outcome.isAuthenticated = true
        guard answer.errorCode == STUNErrorCode.roleConflict else { return outcome }
        outcome.rejection = .roleConflict
        if case .controlling = check.role { isControlling = false } else { isControlling = true }
        beginCheck(index, at: now)
        return outcome
    }
}
