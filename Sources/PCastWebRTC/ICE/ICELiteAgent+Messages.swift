package import PCastCore

extension ICELiteAgent {
    /// Processes a STUN message on a path and writes the response into `reply`, which has `STUNMessage.maximumSize`
    /// bytes. Indications get no response (RFC 8489, section 6.3.2).
    package mutating func handle(
        _ bytes: Span<UInt8>, message: STUNMessage, from path: NetworkPath, at now: Instant,
        reply: UnsafeMutableRawBufferPointer
    ) -> ICEOutcome {
        guard message.fingerprint != .invalid else { return .rejected(.badFingerprint) }
        switch message.messageClass {
        case .request: return handleRequest(bytes, message, from: path, at: now, reply: reply)
        case .success: return handleProbeAnswer(bytes, message, from: path, at: now)
        case .error, .indication: return ICEOutcome()
        }
    }

    /// Processes a binding request of the peer, with the current or the previous credentials.
    private mutating func handleRequest(
        _ bytes: Span<UInt8>, _ request: STUNMessage, from path: NetworkPath, at now: Instant,
        reply: UnsafeMutableRawBufferPointer
    ) -> ICEOutcome {
        let isCurrent = current.local.authenticate(request, bytes, from: current.remote)
        let isPrevious = !isCurrent && previous.map { $0.local.authenticate(request, bytes, from: $0.remote) } ?? false
        guard isCurrent || isPrevious, let generation = isCurrent ? current : previous else {
            return ICEReply.refuse(request, into: reply)
        }
        let key = generation.local.key
        if !request.unknownAttributes.isEmpty {
            let length = ICEReply.error(STUNErrorCode.unknownAttribute, to: request, key: key, into: reply)
            return .rejected(.unknownAttributes, replyLength: length)
        }
        if case .controlled = request.role {
            // A lite agent cannot be controlling, so the peer must change its role (RFC 8445, section 7.3.1.1).
            let length = ICEReply.error(STUNErrorCode.roleConflict, to: request, key: key, into: reply)
            return .rejected(.roleConflict, replyLength: length)
        }
        var outcome = ICEOutcome()
        outcome.isAuthenticated = true
        validate(path, at: now)
        if request.usesCandidate {
            outcome.isNomination = true
            if isCurrent { previous = nil }
            outcome.newlySelectedPath = select(path)
        }
        outcome.replyLength = ICEReply.success(to: request, at: path.remote, key: key, into: reply)
        return outcome
    }

    /// Selects a path, because the latest nomination counts. Returns the path if it has changed.
    private mutating func select(_ path: NetworkPath) -> NetworkPath? {
        guard selectedPath != path else { return nil }
        selectedPath = path
        return path
    }

    /// The time before a probe is retransmitted or another path is probed.
    private static let probeInterval = TimeSpan.milliseconds(250)

    /// The time within which a probe may be answered.
    private static let probeLifetime = TimeSpan.seconds(4 as Int64)

    /// The path of the last probe; nil if none is outstanding.
    var probedPath: NetworkPath? { outstandingProbe?.path }

    /// Writes a binding request for a path on which an authenticated packet of the peer arrived, but which is not
    /// selected.
    ///
    /// The path is selected when the response arrives, because the peer may have changed its address. A retransmission
    /// has the same transaction ID, so that a late response still counts.
    ///
    /// - Parameters:
    ///   - path: The path of the packet.
    ///   - now: The present time.
    ///   - buffer: The buffer for the request.
    ///   - generator: The generator for transaction IDs.
    /// - Returns: The size in bytes; 0 if no request is necessary or another was sent recently.
    package mutating func probe(
        _ path: NetworkPath, at now: Instant, into buffer: UnsafeMutableRawBufferPointer,
        using generator: inout some RandomNumberGenerator
    ) -> Int {
        guard let remote = current.remote, path != selectedPath, consent.lastAuthenticated != nil else { return 0 }
        if let outstandingProbe, now < outstandingProbe.sent + Self.probeInterval { return 0 }
        var probe = Probe(transactionID: .random(using: &generator), path: path, begun: now, sent: now)
        if let last = outstandingProbe, last.path == path, now < last.begun + Self.probeLifetime {
            probe = last
            probe.sent = now
        }
        outstandingProbe = probe
        var writer = STUNMessageWriter(.request, transactionID: probe.transactionID, into: buffer)
        writer.addUsername(recipient: remote.ufragBytes, sender: current.local.ufragBytes)
        writer.addPriority(ICECandidate.priority(.peerReflexive, transport: .udp))
        writer.addRole(.controlled(tieBreaker: generator.next()))
        return writer.finish(key: remote.key)
    }

    /// Processes the response to a probe, and selects its path.
    private mutating func handleProbeAnswer(
        _ bytes: Span<UInt8>, _ answer: STUNMessage, from path: NetworkPath, at now: Instant
    ) -> ICEOutcome {
        guard let probe = outstandingProbe, probe.transactionID == answer.transactionID, probe.path == path else {
            return .rejected(.unexpectedAnswer)
        }
        guard let remote = current.remote, answer.verifyIntegrity(bytes, key: remote.key) else {
            return .rejected(.unauthenticated)
        }
        outstandingProbe = nil
        var outcome = ICEOutcome()
        outcome.isAuthenticated = true
        validate(path, at: now)
        outcome.newlySelectedPath = select(path)
        return outcome
    }
}
