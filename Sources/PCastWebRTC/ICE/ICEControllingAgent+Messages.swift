package import PCastCore

extension ICEControllingAgent {
    /// Processes a STUN message on a path and writes the response into `reply`, which has `STUNMessage.maximumSize`
    /// bytes.
    package mutating func handle(
        _ bytes: Span<UInt8>, message: STUNMessage, from path: NetworkPath, at now: Instant,
        reply: MutableByteView
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

    /// Restarts ICE with new credentials (RFC 8445, section 9).
    ///
    /// Media stays on the present path, and checks with the old credentials are answered, until a check with the new
    /// ones succeeds. The peer's candidates are then those of its new description, but the address in use is checked
    /// first.
    ///
    /// - Parameters:
    ///   - local: The new local credentials.
    ///   - remote: The new credentials of the peer.
    ///   - now: The current time.
    package mutating func restart(local: ICECredentials, remote: ICECredentials, at now: Instant) {
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
    /// Processes a binding request of the peer, with the current or the previous credentials.
    private mutating func handleRequest(
        _ bytes: Span<UInt8>, _ request: STUNMessage, from path: NetworkPath, at now: Instant,
        reply: MutableByteView
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

    /// Resolves a role conflict: the agent with the larger tie-breaker becomes controlling (RFC 8445, section 7.3.1.1).
    /// Returns false if the peer must change its role.
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

    /// Records a check of the peer on a pair and begins a triggered check (RFC 8445, section 7.3.1.4). Returns the path
    /// if it is newly selected.
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
        pairs[index].hasPeerRequest = true
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

// MARK: - Responses

extension ICEControllingAgent {
    /// Returns the index of the pair whose check a response answers; nil if there is none.
    private func checkedPair(_ answer: STUNMessage, from path: NetworkPath) -> Int? {
        pairs.firstIndex { pair in
            guard let check = pair.check, check.tries > 0 else { return false }
            // A response from another address than that of the request is discarded (RFC 8445, section 7.2.5.2.1).
            return check.transactionID == answer.transactionID && pair.matches(path)
        }
    }

    /// Processes a success response: the pair is valid, and may be selected.
    private mutating func handleSuccess(
        _ bytes: Span<UInt8>, _ answer: STUNMessage, from path: NetworkPath, at now: Instant
    ) -> ICEOutcome {
        guard let index = checkedPair(answer, from: path), let check = pairs[index].check else {
            return .rejected(.unexpectedAnswer)
        }
        guard answer.verifyIntegrity(bytes, key: remote.key) else { return .rejected(.unauthenticated) }
        let mayReplace = selected == nil || isSelectedPairUnresponsive
        pairs[index].path = path
        pairs[index].state = .succeeded
        pairs[index].check = nil
        reflexiveAddress = answer.mappedAddress ?? reflexiveAddress
        // The response to a retransmitted check may belong to any transmission, so it does not measure the round-trip
        // time.
        if check.tries == 1 || roundTrip == nil { roundTrip = now - check.firstSent }
        consent.start(at: now)
        quietSince = now
        var outcome = ICEOutcome()
        outcome.isAuthenticated = true
        outcome.newlySelectedPath = selectPair(index, nominated: check.nominates, mayReplace: mayReplace, at: now)
        if selected != nil { state = .connected }
        return outcome
    }

    /// Selects a pair whose check succeeded, or keeps the selected one. Returns the path if it is newly selected.
    private mutating func selectPair(
        _ index: Int, nominated: Bool, mayReplace: Bool, at now: Instant
    ) -> NetworkPath? {
        if index == selected {
            scheduleKeepalive(at: now)
            return nil
        }
        let mayBeSelected = isControlling ? nominated : pairs[index].isNominatedByPeer
        if mayBeSelected, mayReplace || !isControlling { return select(index, at: now) }
        // The response is late. The peer follows the latest nomination, so the selected pair is nominated again.
        if let selected, nominated { beginCheck(selected, at: now) }
        return nil
    }

    /// Selects a pair and closes the connections of others. Returns the path if it has changed.
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
            pairs[other].hasPeerRequest = false
        }
        return before == pairs[index].path ? nil : pairs[index].path
    }

    /// Processes an error response. Only 487 (role conflict) has an effect, because others may be forged or come before
    /// the peer knows this agent.
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

/// Writes responses to binding requests (RFC 8445, section 7.3).
///
/// A response is never larger than its request, so that requests with a forged source address cause no amplification.
/// Checks that conform to RFC 8445 have a priority and a role, and are always larger than the response.
enum ICEReply {
    /// Writes a success response. Returns its size in bytes; 0 if it would be larger than the request.
    static func success(
        to request: STUNMessage, at address: TransportAddress, key: [UInt8], into buffer: MutableByteView
    ) -> Int {
        var writer = STUNMessageWriter(.success, transactionID: request.transactionID, into: buffer)
        writer.addMappedAddress(address)
        return bounded(writer.finish(key: key), request)
    }

    /// Returns the length, or 0 if it is larger than the request.
    private static func bounded(_ length: Int, _ request: STUNMessage) -> Int { length <= request.size ? length : 0 }

    /// Writes an error response. Returns its size in bytes; 0 if it would be larger than the request.
    static func error(
        _ code: Int, to request: STUNMessage, key: [UInt8], into buffer: MutableByteView
    ) -> Int {
        var writer = STUNMessageWriter(.error, transactionID: request.transactionID, into: buffer)
        writer.addErrorCode(code)
        if code == STUNErrorCode.unknownAttribute { writer.addUnknownAttributes(request.unknownAttributes) }
        return bounded(writer.finish(key: key), request)
    }

    /// Writes the response to a request that is not authentic, unless it would be larger than the request. A forged
    /// source address must cause no amplification (RFC 8445, section 19).
    static func refuse(_ request: STUNMessage, into buffer: MutableByteView) -> ICEOutcome {
        let isIncomplete = request.integrityOffset == nil || request.usernameRange == nil
        let rejection: ICEOutcome.Rejection = isIncomplete ? .badRequest : .unauthenticated
        let size = STUNMessage.headerSize + 8 + 8
        guard request.size >= size else { return .rejected(rejection) }
        var writer = STUNMessageWriter(.error, transactionID: request.transactionID, into: buffer)
        writer.addErrorCode(isIncomplete ? STUNErrorCode.badRequest : STUNErrorCode.unauthenticated)
        return .rejected(rejection, replyLength: writer.finish(key: nil))
    }
}
