package import PCastCore

/// The ICE agent of a server: a lite agent, which answers checks and follows the peer's nominations (RFC 8445, section
/// 2.5).
///
/// It is always controlled. A peer that is also lite cannot connect to it, because one agent must be full.
package struct ICELiteAgent: Sendable {
    /// The credentials before or after a restart. `remote` is nil until the peer's description is known.
    struct Generation: Sendable {
        var local: ICECredentials
        var remote: ICECredentials?
    }

    /// A path on which the peer was authenticated.
    struct ValidatedPath: Sendable {
        let path: NetworkPath
        var lastAuthenticated: Instant
    }

    /// A request by which the agent checks whether the peer has changed its address.
    struct Probe: Sendable {
        let transactionID: STUNTransactionID
        let path: NetworkPath
        /// The time of the first transmission.
        let begun: Instant
        /// The time of the last transmission.
        var sent: Instant
    }

    /// The maximum number of validated paths. The one that was silent longest is removed, but never the selected one.
    package static let maximumPaths = 8

    /// The current credentials.
    var current: Generation
    /// The credentials before a restart; nil after a nomination with the current ones.
    var previous: Generation?
    var paths: [ValidatedPath] = []
    /// The last probe; nil if none is outstanding.
    var outstandingProbe: Probe?
    /// The time at which a peer without a successful check expires; nil for never.
    let setupDeadline: Instant?

    /// The path that the peer nominated last; nil before the first nomination.
    package internal(set) var selectedPath: NetworkPath?

    /// The consent of the peer.
    package internal(set) var consent = ICEConsent()

    /// Creates an agent. A peer without a successful check expires at `setupDeadline`; nil for never.
    package init(local: ICECredentials, remote: ICECredentials? = nil, setupDeadline: Instant? = nil) {
        current = Generation(local: local, remote: remote)
        self.setupDeadline = setupDeadline
        paths.reserveCapacity(Self.maximumPaths)
    }

    /// The current local credentials.
    package var local: ICECredentials { current.local }

    /// The current credentials of the peer; nil until its description is known. Until then checks are authenticated by
    /// the local ones only.
    package var remote: ICECredentials? {
        get { current.remote }
        set { current.remote = newValue }
    }

    /// The time at which the peer was last authenticated; nil before the first successful check.
    package var lastAuthenticated: Instant? { consent.lastAuthenticated }

    /// Returns whether the peer has been silent for 5 s.
    package func isAway(at now: Instant) -> Bool { consent.isAway(at: now) }

    /// Returns whether consent has expired, or the setup deadline has passed without a successful check.
    package func hasExpired(at now: Instant) -> Bool {
        if lastAuthenticated == nil, let setupDeadline { return now >= setupDeadline }
        return consent.hasExpired(at: now)
    }

    /// Returns whether an authenticated check arrived on a path, so that DTLS and media are accepted on it.
    package func isValidated(_ path: NetworkPath) -> Bool { paths.contains { $0.path == path } }

    /// The path on which to send: the selected one, or before a nomination the one that was authenticated last. It is
    /// nil before the first check.
    package var sendingPath: NetworkPath? {
        selectedPath ?? paths.max { $0.lastAuthenticated < $1.lastAuthenticated }?.path
    }

    /// Returns the time at which the result of ``isAway(at:)``, ``hasExpired(at:)`` or ``takePathToClose(at:)`` may
    /// change; nil if it does not.
    package mutating func deadline(after now: Instant) -> Instant? {
        var deadline = consent.deadline(after: now)
        if lastAuthenticated == nil, let setupDeadline, setupDeadline > now { deadline = setupDeadline }
        for entry in paths where isClosable(entry) {
            deadline = Instant.earlier(deadline, max(entry.lastAuthenticated + Self.closingDelay, now))
        }
        return deadline
    }

    /// Restarts ICE with new credentials. Both old and new ones are valid until the peer nominates with the new ones,
    /// and the paths stay valid (RFC 8445, section 9).
    package mutating func restart(local: ICECredentials, remote: ICECredentials?) {
        previous = current
        current = Generation(local: local, remote: remote)
        outstandingProbe = nil
    }

    /// Records an authenticated SRTCP packet of the peer, which extends consent. It does not validate its path; see
    /// ``probe(_:at:into:using:)``.
    package mutating func noteAuthenticated(path: NetworkPath, at now: Instant) {
        consent.extend(at: now)
        if let index = paths.firstIndex(where: { $0.path == path }) { paths[index].lastAuthenticated = now }
    }

    /// Prefetches the validated paths, which ``noteAuthenticated(path:at:)`` accesses. See `Prefetch`.
    mutating func prefetchPaths() {
        let first = AddressRange(elementsOf: paths, count: 1)
        Prefetch.fetch(arrayAt: first, first.count)
    }

    /// Records a successful check on a path.
    mutating func validate(_ path: NetworkPath, at now: Instant) {
        consent.start(at: now)
        if let index = paths.firstIndex(where: { $0.path == path }) {
            paths[index].lastAuthenticated = now
            return
        }
        if paths.count == Self.maximumPaths { dropOldestPath() }
        paths.append(ValidatedPath(path: path, lastAuthenticated: now))
    }

    /// Removes the unselected path that was silent longest.
    private mutating func dropOldestPath() {
        var oldest: Int?
        for index in paths.indices where paths[index].path != selectedPath {
            if oldest.map({ paths[index].lastAuthenticated < paths[$0].lastAuthenticated }) ?? true { oldest = index }
        }
        if let oldest { paths.remove(at: oldest) }
    }
}

// MARK: - Stream connections (RFC 6544)

extension ICELiteAgent {
    /// The time of silence after which an unselected connection is closed. Browsers check such connections for a while
    /// before they nominate one.
    static let closingDelay = TimeSpan.seconds(10 as Int64)

    /// Returns whether a path is a connection that is not selected although another path is.
    private func isClosable(_ entry: ValidatedPath) -> Bool {
        selectedPath != nil && entry.path != selectedPath && entry.path.transport != .udp
    }

    /// Returns a connection that the driver must close, because another path was nominated; the agent forgets it.
    /// Returns nil if there is none; call until then.
    package mutating func takePathToClose(at now: Instant) -> NetworkPath? {
        let index = paths.firstIndex { isClosable($0) && now >= $0.lastAuthenticated + Self.closingDelay }
        return index.map { paths.remove(at: $0).path }
    }

    /// Reports that a connection was closed. If it was selected, ``sendingPath`` falls back to another path.
    package mutating func pathClosed(_ path: NetworkPath) {
        paths.removeAll { $0.path == path }
        if selectedPath == path { selectedPath = nil }
    }
}

extension ICELiteAgent {
    /// Processes a STUN message on a path and writes the response into `reply`, which has `STUNMessage.maximumSize`
    /// bytes. Indications get no response (RFC 8489, section 6.3.2).
    package mutating func handle(
        _ bytes: Span<UInt8>, message: STUNMessage, from path: NetworkPath, at now: Instant,
        reply: MutableByteView
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
        reply: MutableByteView
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
        outcome.usesPreviousCredentials = isPrevious
        validate(path, at: now)
        if request.usesCandidate {
            outcome.isNomination = true
            if isCurrent { previous = nil }
            outcome.newlySelectedPath = select(path)
        }
        outcome.replyLength = ICEReply.success(to: request, at: path.remote, key: key, into: reply)
        return outcome
    }

    /// Returns whether the peer has sent a request, without any effect.
    package func authenticates(_ request: STUNMessage, _ bytes: Span<UInt8>) -> Bool {
        current.local.authenticate(request, bytes, from: current.remote)
            || previous.map { $0.local.authenticate(request, bytes, from: $0.remote) } ?? false
    }

    /// Writes the response to an accepted request again, with what the handshake embeds in it. Unlike the response
    /// without it, it may be larger than the request, as the flights of DTLS on a validated path are.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - outcome: The outcome of ``handle(_:message:from:at:reply:)``.
    ///   - address: The address of the peer.
    ///   - embedded: The state of the embedded handshake.
    ///   - buffer: The buffer for the response, which has `STUNMessage.maximumSize` bytes.
    /// - Returns: The size in bytes.
    func respond(
        to request: STUNMessage, _ outcome: ICEOutcome, at address: TransportAddress,
        embedding embedded: inout EmbeddedHandshake, into buffer: MutableByteView
    ) -> Int {
        let generation = outcome.usesPreviousCredentials ? previous ?? current : current
        var writer = STUNMessageWriter(.success, transactionID: request.transactionID, into: buffer)
        writer.addMappedAddress(address)
        writer.addEmbedded(embedded.nextDatagram() ?? [], acknowledging: embedded.received)
        return writer.finish(key: generation.local.key)
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
    ///   - now: The current time.
    ///   - buffer: The buffer for the request.
    ///   - generator: The generator for transaction IDs.
    /// - Returns: The size in bytes; 0 if no request is necessary or another was sent recently.
    package mutating func probe(
        _ path: NetworkPath, at now: Instant, into buffer: MutableByteView,
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
