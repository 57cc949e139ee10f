public import PCastMedia

extension ICELiteAgent {
    /// Takes in a STUN message that came by `path`, and writes the answer into `reply`, which holds
    /// `STUNMessage.maximumSize` bytes.
    ///
    /// Indications are never answered (RFC 8489, section 6.3.2).
    public mutating func handle(
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
            // A lite agent cannot control, so it is the other that has to change (RFC 8445, section 7.3.1.1).
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

    /// The latest nomination counts, whatever was selected before (ICE1).
    private mutating func select(_ path: NetworkPath) -> NetworkPath? {
        guard selectedPath != path else { return nil }
        selectedPath = path
        return path
    }

    /// How long an unanswered probe keeps others from being sent, and the same from being sent again.
    private static let probeInterval = TimeSpan.milliseconds(250)

    /// How long a probe may be answered.
    private static let probeLifetime = TimeSpan.seconds(4 as Int64)

    /// Where the last probe went.
    var probedPath: NetworkPath? { outstandingProbe?.path }

    /// The peer's authenticated packet came from another address than the selected one: asks that address whether the
    /// peer is there. Writes one binding request to be sent by `path`, and answers its size; 0 when there is nothing
    /// to ask, or a probe is under way. The path is selected when the answer comes (ICE7). One that is repeated is the
    /// same, so that the answer may take longer than until then.
    public mutating func probe(
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
