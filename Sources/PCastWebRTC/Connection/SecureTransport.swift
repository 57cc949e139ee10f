package import PCastCore
package import PCastRTP

/// The ICE, DTLS and SRTP layers of one connection.
///
/// A client's `PeerConnection` uses it with a controlling agent, and the SFU uses it with a lite agent. Media is
/// decrypted in the driver's buffer and encrypted into the driver's batch. Only handshakes and checks, which are few,
/// are copied through a queue.
package struct SecureTransport: ~Copyable {
    /// The kind of a received datagram.
    package enum Received {
        /// It was processed here, or is not authentic.
        case nothing
        /// The first `length` bytes of the buffer are a decrypted RTP packet.
        case rtp(length: Int)
        /// The first `length` bytes of the buffer are a decrypted compound RTCP packet.
        case rtcp(length: Int)
    }

    /// A change of the transport, or a request to the driver.
    package enum Event: Hashable, Sendable {
        /// A connectivity check has found the first path, on which the DTLS handshake continues.
        case reachable
        /// There are keys and media can be sent. The handshake of an SFU that is the DTLS client may still wait for the
        /// final flight of its peer, and fail.
        case connected(SRTPProfile)
        /// Media is sent on another path from now on.
        case pathChanged(NetworkPath)
        /// Nothing was received for 5 s, or something was received again.
        case away, back
        /// The peer has closed the connection (DTLS close_notify).
        case closed
        /// The transport has failed.
        case failed(TransportFailure)
        /// The driver must open a TCP connection (RFC 6544) and call ``pathOpened(_:at:)`` or
        /// ``connectionFailed(to:)``.
        case openConnection(to: TransportAddress)
        /// The driver must close a TCP connection that is not used any more.
        case closeConnection(NetworkPath)
    }

    /// A datagram and its path.
    private struct Outgoing {
        let bytes: [UInt8]
        let path: NetworkPath
    }

    /// The maximum number of queued checks and handshake datagrams. The oldest one is dropped, because both are
    /// retransmitted.
    private static let outgoingLimit = 32

    /// The maximum number of SRTP packets that are kept until the handshake has finished. Further ones are dropped and
    /// repaired later. A client keeps a key frame of 75 kB, which may overtake the flight that it is sent with.
    private static let earlyLimit = 16
    private static let earlyLimitOfClient = 64

    // The next properties are accessed for each packet; see `prefetch`. This one is for prefetching only: a retained
    // reference would access the object, and thus wait for the memory that is being prefetched.
    private var prefetchedSender: UnretainedReference<SRTPSender>?
    private var sender: SRTPSender?
    /// Whether the agent is a client's controlling agent.
    private let isControlling: Bool
    private var hasEnded = false
    /// The path on which datagrams are sent; nil before the first valid check.
    package private(set) var path: NetworkPath?

    // The next properties are also accessed for each report of the peer.
    private var receiver: SRTPReceiver?
    private var prefetchedReceiver: UnretainedReference<SRTPReceiver>?
    /// The agent of a client; nil in the SFU, where the box saves memory.
    private let controlling: UniqueBox<ICEControllingAgent>?
    private var isAway = false
    /// Whether the peer has shown that it has the keys.
    private var isSettled = false
    private var hasStartedHandshake = false
    private var hasFinishedHandshake = false
    /// The time at which the last authenticated datagram arrived; nil before the first.
    package private(set) var lastReceivedAt: Instant?
    /// The time of the last call of ``advance(to:)``.
    private var lastAdvance = Instant(nanoseconds: .min)
    private var outgoing: [Outgoing] = []
    private var events: [Event] = []
    /// The agent of a server; nil in a client.
    private var lite: ICELiteAgent?

    private let handshake: any DTLSHandshake
    private var transactions: TransactionIDGenerator
    /// The packets that arrived before the keys.
    private var early: [Outgoing] = []
    /// The datagrams of the handshake in the client's checks; nil if the client does not embed them.
    private var embedded: UniqueBox<EmbeddedHandshake>?

    /// The number of datagrams that were not authentic or of none of the protocols.
    package private(set) var rejected = 0

    /// The number of rejected SRTP and SRTCP packets that arrived after the keys were established.
    package private(set) var rejectedPackets = 0

    /// The SRTP profile; nil before there are keys.
    package var profile: SRTPProfile? { sender?.profile }

    /// Whether there are keys and the transport has not ended.
    package var isConnected: Bool { sender != nil && !hasEnded }

    /// Whether media can be sent: there are keys and a path.
    package var canSend: Bool { mutating get { isConnected && path != nil } }

    /// Creates the transport of a server, which answers checks.
    ///
    /// - Parameters:
    ///   - agent: The ICE agent.
    ///   - handshake: The DTLS handshake.
    ///   - seed: The seed for transaction IDs, from a secure source.
    package init(lite agent: ICELiteAgent, handshake: any DTLSHandshake, seed: UInt64) {
        lite = agent
        controlling = nil
        isControlling = false
        self.handshake = handshake
        transactions = TransactionIDGenerator(seed: seed)
    }

    /// Creates the transport of a client, which sends checks. `seed`, for transaction IDs, comes from a secure source.
    package init(controlling agent: ICEControllingAgent, handshake: any DTLSHandshake, seed: UInt64) {
        controlling = UniqueBox(agent)
        isControlling = true
        self.handshake = handshake
        transactions = TransactionIDGenerator(seed: seed)
    }

    /// Returns the next event; nil if there is none.
    ///
    /// The memory of the queue is released with the last event. It is checked after each report whether there are
    /// events, and an empty array without its own memory avoids a cache miss.
    ///
    /// - Returns: The event.
    package mutating func pollEvent() -> Event? {
        guard !events.isEmpty else { return nil }
        defer { if events.isEmpty { events = [] } }
        return events.removeFirst()
    }

    // MARK: Receiving

    /// Processes a datagram. RTP and RTCP packets are decrypted in place.
    package mutating func handle(
        _ datagram: MutableByteView, from path: NetworkPath, at now: Instant
    ) -> Received {
        let kind = DatagramKind(datagram.span)
        return handle(datagram, as: kind, from: path, at: now)
    }

    /// Processes a datagram whose protocol the caller has determined. RTP and RTCP packets are decrypted in place.
    package mutating func handle(
        _ datagram: MutableByteView, as kind: DatagramKind, from path: NetworkPath, at now: Instant
    ) -> Received {
        guard !hasEnded else { return .nothing }
        switch kind {
        case .rtp: return receiveRTP(datagram, from: path, at: now)
        case .rtcp: return receiveRTCP(datagram, from: path, at: now)
        case .stun:
            let bytes = datagram.span
            handle(STUNMessage.parse(bytes), in: bytes, from: path, at: now)
        case .dtls: receiveDTLS(datagram, from: path, at: now)
        case .unknown: rejected += 1
        }
        return .nothing
    }

    private mutating func receiveRTP(
        _ packet: MutableByteView, from path: NetworkPath, at now: Instant
    ) -> Received {
        guard let length = unprotect(packet, isRTCP: false, from: path, at: now) else { return .nothing }
        if path != self.path { probe(path, at: now) }
        return .rtp(length: length)
    }

    private mutating func receiveRTCP(
        _ packet: MutableByteView, from path: NetworkPath, at now: Instant
    ) -> Received {
        guard let length = unprotect(packet, isRTCP: true, from: path, at: now) else { return .nothing }
        controlling?.value.noteAuthenticated(at: now)
        lite?.noteAuthenticated(path: path, at: now)
        markAlive()
        if path != self.path { probe(path, at: now) }
        return .rtcp(length: length)
    }

    /// Decrypts a packet in place. Returns its length; nil if it is rejected, or is buffered because there are no keys
    /// yet.
    @inline(__always)
    private mutating func unprotect(
        _ packet: MutableByteView, isRTCP: Bool, from path: NetworkPath, at now: Instant
    ) -> Int? {
        guard let receiver else {
            bufferEarly(packet, from: path)
            return nil
        }
        guard case .ok(let length) = isRTCP ? receiver.unprotectRTCP(packet) : receiver.unprotectRTP(packet) else {
            rejected += 1
            rejectedPackets += 1
            return nil
        }
        if !isSettled, hasFinishedHandshake { releaseHandshake() }
        controlling?.value.noteReceived(at: now)
        lastReceivedAt = now
        return length
    }

    /// Lets the handshake release its resources: it has finished, and the peer's first SRTP packet shows that it has the
    /// keys.
    private mutating func releaseHandshake() {
        isSettled = true
        handshake.releaseResources()
        embedded?.value.release()
    }

    /// Sends an ICE check to an unselected path on which an authentic packet arrived that is not a replay. The peer may
    /// have changed its address.
    private mutating func probe(_ path: NetworkPath, at now: Instant) {
        guard lite != nil, receiver?.lastWasNewest == true else { return }
        let request = [UInt8](capacity: STUNMessage.maximumSize) { (buffer: MutableByteView) in
            lite!.probe(path, at: now, into: buffer, using: &transactions)
        }
        if !request.isEmpty { enqueue(request, to: path) }
    }

    /// The path on which the last connectivity probe was sent; its response arrives on that path.
    package var probedPath: NetworkPath? { lite?.probedPath }

    /// Returns an SSRC that the peer has recently begun to use; nil if there is no other.
    package mutating func takeNewSource() -> UInt32? { receiver?.takeNewSource() }

    /// Keeps a packet that arrived before the keys, if there is room and its path is validated.
    private mutating func bufferEarly(_ packet: MutableByteView, from path: NetworkPath) {
        let limit = isControlling ? Self.earlyLimitOfClient : Self.earlyLimit
        guard early.count < limit, isValidated(path) else { return }
        early.append(Outgoing(bytes: Array(packet), path: path))
    }

    /// Returns a packet that arrived before the keys, which the caller passes to ``handle(_:from:at:)`` after
    /// ``Event/connected(_:)``. Returns nil if there is no other.
    package mutating func takeEarlyPacket() -> (bytes: [UInt8], path: NetworkPath)? {
        guard isConnected, !early.isEmpty else { return nil }
        let packet = early.removeFirst()
        return (packet.bytes, packet.path)
    }

    /// Returns whether the peer has passed an authenticated check on a path. DTLS is accepted on each such path,
    /// because the handshake may begin before nomination (RFC 8445, section 12.2).
    package func isValidated(_ path: NetworkPath) -> Bool {
        path == self.path || lite?.isValidated(path) == true || controlling?.value.isValidated(path) == true
    }

    /// Returns whether a check was sent by the peer, before work that it causes. It changes nothing; `mutating` avoids a copy
    /// of the agent.
    package mutating func authenticates(_ message: STUNMessage, _ bytes: Span<UInt8>) -> Bool {
        lite?.authenticates(message, bytes) == true
    }

    /// Processes a STUN datagram that the caller has parsed, to find the peer by the ufrag.
    ///
    /// - Parameters:
    ///   - message: The parsed message; nil if the datagram is malformed.
    ///   - bytes: The datagram.
    ///   - path: The path on which it arrived.
    ///   - admitsHandshake: Whether a DTLS datagram in the message is processed. The client repeats one that is not.
    ///   - now: The current time.
    package mutating func handle(
        _ message: STUNMessage?, in bytes: Span<UInt8>, from path: NetworkPath, admitsHandshake: Bool = true,
        at now: Instant
    ) {
        guard !hasEnded else { return }
        guard let message else {
            rejected += 1
            return
        }
        var outcome = ICEOutcome()
        // The buffer is allocated here because a closure cannot capture the span.
        let memory = ByteStorage(byteCount: STUNMessage.maximumSize)
        let reply = memory.bytes
        if lite != nil {
            outcome = lite!.handle(bytes, message: message, from: path, at: now, reply: reply)
        } else if controlling != nil {
            outcome = controlling!.value.handle(bytes, message: message, from: path, at: now, reply: reply)
        }
        if outcome.rejection != nil { rejected += 1 }
        if outcome.isAuthenticated {
            lastReceivedAt = now
            markAlive()
        }
        if outcome.isAuthenticated, lite != nil, message.messageClass == .request, message.isEmbedding {
            followAgent(at: now)
            let admitted = admitsHandshake ? message.embeddedDatagramRange ?? 0..<0 : 0..<0
            respond(to: message, in: bytes, outcome, embedding: admitted, from: path, at: now, reply)
        } else if outcome.replyLength > 0 {
            enqueue(Array(reply.extracting(0..<outcome.replyLength)), to: path)
        }
        followAgent(at: now)
    }

    /// Responds to a check of a client that embeds its handshake, and processes the datagram in the given range.
    private mutating func respond(
        to request: STUNMessage, in bytes: Span<UInt8>, _ outcome: ICEOutcome, embedding range: Range<Int>,
        from path: NetworkPath, at now: Instant, _ reply: MutableByteView
    ) {
        let box = embedded ?? UniqueBox(EmbeddedHandshake())
        embedded = box
        if let range = request.acknowledgementsRange { box.value.acknowledge(range, of: bytes) }
        var unembedded: [[UInt8]] = []
        let datagram = bytes.extracting(range)
        if DatagramKind(datagram) == .dtls {
            let handshake = handshake
            datagram.withByteView { if box.value.receive($0) { handshake.handle($0, at: now) } }
            unembedded = box.value.send(takeFlight())
        }
        let length = lite!.respond(to: request, outcome, at: path.remote, embedding: &box.value, into: reply)
        enqueue(Array(reply.extracting(0..<length)), to: path)
        for datagram in unembedded { enqueue(datagram, to: path) }
        followHandshake(at: now)
    }

    private mutating func receiveDTLS(
        _ datagram: MutableByteView, from path: NetworkPath, at now: Instant
    ) {
        guard isValidated(path) else {
            rejected += 1
            return
        }
        handshake.handle(ByteView(datagram), at: now)
        followHandshake(at: now)
    }

    // MARK: State of the agent and the handshake

    /// Emits ``Event/back`` if the peer was away.
    private mutating func markAlive() {
        guard isAway else { return }
        isAway = false
        events.append(.back)
    }

    /// Applies changes of the ICE agent, and starts the handshake on the first path.
    private mutating func followAgent(at now: Instant) {
        if let current = lite.map({ $0.sendingPath }) ?? controlling?.value.selectedPath, current != path {
            // It is also a change after a time without a path; only the first path is none.
            if hasStartedHandshake { events.append(.pathChanged(current)) }
            path = current
        }
        if path != nil, !hasStartedHandshake {
            hasStartedHandshake = true
            events.append(.reachable)
            handshake.start(at: now)
            followHandshake(at: now)
        }
        while let address = controlling?.value.pollConnection() { events.append(.openConnection(to: address)) }
        while let unused = lite?.takePathToClose(at: now) ?? controlling?.value.takePathToClose() {
            events.append(.closeConnection(unused))
        }
    }

    /// Applies changes of the handshake, and creates the SRTP contexts when there are keys.
    private mutating func followHandshake(at now: Instant) {
        drainHandshake()
        switch handshake.state {
        case .new: break
        case .handshaking:
            // Only the SFU sends early. Its viewers keep what arrives before their keys.
            if sender == nil, !isControlling, let keys = handshake.earlyKeys { begin(with: keys) }
        case .established(let keys):
            hasFinishedHandshake = true
            if sender == nil { begin(with: keys) }
        case .failed(let reason): end(.failed(.handshake("\(reason)")))
        case .closed: end(.closed)
        }
    }

    /// Creates the SRTP contexts.
    private mutating func begin(with keys: SRTPKeyingMaterial) {
        let sender = SRTPSender(keys)
        self.sender = sender
        prefetchedSender = UnretainedReference(sender)
        let receiver = SRTPReceiver(keys)
        self.receiver = receiver
        prefetchedReceiver = UnretainedReference(receiver)
        events.append(.connected(keys.profile))
    }

    /// Queues the datagrams of the handshake.
    private mutating func drainHandshake() {
        guard let path else { return }
        for datagram in takeFlight() { enqueue(datagram, to: path) }
    }

    /// Returns the datagrams that the handshake has written since the last call.
    private func takeFlight() -> [[UInt8]] {
        var flight: [[UInt8]] = []
        while handshake.hasDatagrams {
            let datagram = [UInt8](capacity: DatagramBatch.maximumDatagramSize) { (buffer: MutableByteView) in
                handshake.poll(into: buffer) ?? 0
            }
            if datagram.isEmpty { break }
            flight.append(datagram)
        }
        return flight
    }

    /// Ends the transport with its last event.
    private mutating func end(_ event: Event) {
        guard !hasEnded else { return }
        hasEnded = true
        early.removeAll()
        events.append(event)
    }

    /// Queues a datagram, and drops the oldest one if the queue is full.
    private mutating func enqueue(_ bytes: [UInt8], to path: NetworkPath) {
        if outgoing.count == Self.outgoingLimit { outgoing.removeFirst() }
        outgoing.append(Outgoing(bytes: bytes, path: path))
    }

    // MARK: Time and output

    /// The time at which ``advance(to:)`` must be called; nil if nothing is scheduled.
    ///
    /// It is called after each report. The getter is `mutating` so that it does not copy the agent, though it changes
    /// nothing.
    package var deadline: Instant? {
        mutating get {
            guard !hasEnded else { return nil }
            let checks = isControlling ? controlling?.value.deadline : lite?.deadline(after: lastAdvance)
            // A handshake that has finished has no deadline.
            return Instant.earlier(checks, hasStartedHandshake && !hasFinishedHandshake ? handshake.deadline : nil)
        }
    }

    /// Performs what is due: checks, retransmissions of the handshake, and timeouts.
    package mutating func advance(to now: Instant) {
        guard !hasEnded else { return }
        lastAdvance = now
        controlling?.value.advance(to: now)
        if hasStartedHandshake { handshake.advance(to: now) }
        followAgent(at: now)
        if hasStartedHandshake { followHandshake(at: now) }
        checkLiveness(at: now)
    }

    /// Checks whether the peer has expired, is away, or is back.
    private mutating func checkLiveness(at now: Instant) {
        let expired = lite.map { $0.hasExpired(at: now) } ?? controlling.map { $0.value.state == .failed } ?? false
        if expired {
            let neverSeen = path == nil
            end(.failed(neverSeen ? .setupTimeout : .consentExpired))
            return
        }
        let away = lite.map { $0.isAway(at: now) } ?? controlling.map { $0.value.state == .disconnected } ?? false
        if away, !isAway {
            isAway = true
            events.append(.away)
        } else if !away {
            markAlive()
        }
    }

    /// Appends checks and handshake datagrams to a batch. Returns true if the batch is full and more are due.
    package mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        while !outgoing.isEmpty {
            guard batch.append(outgoing[0].bytes, to: outgoing[0].path) else { return true }
            outgoing.removeFirst()
            if outgoing.isEmpty { outgoing = [] }
        }
        guard !hasEnded, controlling != nil else { return false }
        while let buffer = batch.reserve() {
            guard let (length, path) = controlling!.value.poll(into: buffer, at: now) else { return false }
            batch.commit(length: length, to: path)
        }
        return true
    }

    /// Encrypts a packet, whose header and payload are in different buffers, into a third one. Returns its size in
    /// bytes; 0 if it failed. See `SRTPSender`.
    package mutating func protectRTP(
        header: ByteView, payload: ByteView,
        into destination: MutableByteView
    ) -> Int {
        sender?.protectRTP(header: header, payload: payload, into: destination) ?? 0
    }

    /// Encrypts a packet in place, whose header has `headerSize` bytes. Returns its size in bytes; 0 if it failed.
    package mutating func protectRTP(
        _ packet: MutableByteView, length: Int, headerSize: Int
    ) -> Int {
        sender?.protectRTP(packet, length: length, headerSize: headerSize) ?? 0
    }

    /// Encrypts a compound RTCP packet in place. Returns its size in bytes; 0 if it failed.
    package mutating func protectRTCP(_ packet: MutableByteView, length: Int) -> Int {
        sender?.protectRTCP(packet, length: length) ?? 0
    }

    /// Prefetches the memory that sending a packet needs. See `Prefetch`.
    @inline(__always)
    package mutating func prefetch(_ step: Prefetch) {
        switch step {
        case .own: Prefetch.fetch(AddressRange(from: &prefetchedSender, through: &path))
        case .objects: if let prefetchedSender { Prefetch.fetch(prefetchedSender.memory(SRTPSender.size)) }
        case .tables, .keys: prefetchedSender?.withObject { $0.prefetch(step) }
        }
    }

    /// Prefetches the memory that receiving a packet needs. See `Prefetch`.
    @inline(__always)
    package mutating func prefetchReceiving(_ step: Prefetch) {
        switch step {
        case .own: break
        case .objects:
            if let prefetchedReceiver { Prefetch.fetch(prefetchedReceiver.memory(SRTPReceiver.size)) }
            lite?.prefetchPaths()
        case .tables, .keys: prefetchedReceiver?.withObject { $0.prefetch(step) }
        }
    }

    /// Whether ``poll(into:at:)`` may append datagrams. It may be true although there is none.
    package var hasOutput: Bool { mutating get { !outgoing.isEmpty || isControlling } }

    // MARK: Paths and restarts

    /// Reports that a TCP connection was closed. Media moves to another path, if there is one.
    package mutating func pathClosed(_ path: NetworkPath, at now: Instant) {
        lite?.pathClosed(path)
        controlling?.value.pathClosed(path, at: now)
        guard self.path == path else { return }
        self.path = nil
        // The event causes a reset of measurements, which belong to the closed path.
        if !hasEnded { followAgent(at: now) }
    }

    /// Reports that the driver opened the connection of an ``Event/openConnection(to:)`` event.
    package mutating func pathOpened(_ path: NetworkPath, at now: Instant) {
        controlling?.value.connectionOpened(path, at: now)
    }

    /// Reports that the driver could not open the connection of an ``Event/openConnection(to:)`` event.
    package mutating func connectionFailed(to address: TransportAddress) {
        controlling?.value.connectionFailed(to: address)
    }

    /// Sets whether packets are expected continuously, so that a check is sent after 300 ms of silence.
    package mutating func expectMedia(_ isExpected: Bool = true) { controlling?.value.expectsMedia = isExpected }

    /// Sets the addresses of the driver's sockets. It has an effect in a client only.
    package mutating func setLocalAddresses(_ addresses: [TransportAddress], at now: Instant) {
        controlling?.value.setLocalAddresses(addresses, at: now)
        followAgent(at: now)
    }

    /// Adds a TURN tunnel. See `ICEControllingAgent.addRelay`.
    package mutating func addRelay(_ address: TransportAddress, from local: TransportAddress, at now: Instant) {
        controlling?.value.addRelay(address, from: local, at: now)
    }

    /// Removes a TURN tunnel that is closed.
    package mutating func removeRelay(_ address: TransportAddress, at now: Instant) {
        controlling?.value.removeRelay(address, at: now)
        followAgent(at: now)
    }

    /// Adds a candidate of the peer. It has an effect in a client only.
    package mutating func addRemoteCandidate(_ candidate: ICECandidate, at now: Instant) {
        controlling?.value.addRemoteCandidate(candidate, at: now)
    }

    /// Restarts ICE with new credentials on both sides. The old ones stay valid until a path is nominated with the new
    /// ones (RFC 8445, section 9).
    package mutating func restart(local: ICECredentials, remote: ICECredentials, at now: Instant) {
        lite?.restart(local: local, remote: remote)
        controlling?.value.restart(local: local, remote: remote, at: now)
    }

    /// The round-trip time of the last check; nil in a server, and before the first check.
    package var roundTrip: TimeSpan? { controlling?.value.roundTrip }

    /// Closes the transport. The caller still sends the datagrams that ``poll(into:at:)`` appends, which end with a
    /// DTLS close_notify alert.
    package mutating func close(at now: Instant) {
        guard !hasEnded else { return }
        handshake.close()
        drainHandshake()
        hasEnded = true
    }
}
