public import PCastMedia
import PCastRTP

/// ICE, DTLS and SRTP of one peer: datagrams in, plaintext RTP and RTCP out, and the other way round.
///
/// Both ends stand on it: a client's `PeerConnection` with an agent that checks, a server's `Relay` with a lite one.
/// Media is decrypted in the driver's buffer and encrypted into the driver's batch; only handshakes and checks, a few
/// dozen datagrams in a peer's life, pass through a queue here.
public struct SecureTransport: ~Copyable {
    /// What a datagram turned out to be.
    public enum Received {
        /// Dealt with here, or not authentic.
        case nothing
        /// The buffer's first `length` bytes are an RTP packet in the clear.
        case rtp(length: Int)
        /// The buffer's first `length` bytes are a compound RTCP packet in the clear.
        case rtcp(length: Int)
    }

    public enum Event: Hashable, Sendable {
        /// Keys are agreed: media can flow.
        case connected(SRTPProfile)
        /// The peer is reached by another path from now on.
        case pathChanged(NetworkPath)
        /// Silent for five seconds, and heard of again.
        case away, back
        /// The peer said goodbye (DTLS close_notify).
        case closed
        case failed(TransportFailure)
        /// The driver is asked to open a connection (RFC 6544), and to tell `pathOpened`.
        case openConnection(to: TransportAddress)
        /// A connection that is not needed any more.
        case closeConnection(NetworkPath)
    }

    private struct Outgoing {
        let bytes: [UInt8]
        let path: NetworkPath
    }

    /// Datagrams of checks and handshakes that wait; the oldest is dropped when full, for both are repeated.
    private static let outgoingLimit = 32

    /// Protected packets that came before the keys (DTLS13); further ones are dropped and repaired later.
    private static let earlyLimit = 16

    // What each packet asks for, together; see `bringNear`.
    /// To be looked at without being kept: counting a reference would wait for what is being brought near.
    private var nearSender: Unmanaged<SRTPSender>?
    private var sender: SRTPSender?
    private let isControlling: Bool
    private var hasEnded = false
    /// Where datagrams go at the moment; nil before the first valid check.
    public private(set) var path: NetworkPath?

    // What each report of the peer's asks for as well.
    private var receiver: SRTPReceiver?
    private var nearReceiver: Unmanaged<SRTPReceiver>?
    /// A large one, of which a relay's viewers have none.
    private let controlling: Held<ICEControllingAgent>?
    private var isAway = false
    private var isSettled = false
    private var hasStartedHandshake = false
    /// When something authentic came last; nil before anything did.
    public private(set) var lastHeard: Instant?
    private var lastAdvance = Instant(nanoseconds: .min)
    private var outgoing: [Outgoing] = []
    private var events: [Event] = []
    private var lite: ICELiteAgent?

    private let handshake: any DTLSHandshake
    private var transactions: TransactionIDGenerator
    private var early: [Outgoing] = []

    /// Datagrams that were not authentic, or no datagrams of these protocols at all.
    public private(set) var rejected = 0

    /// Those of them that look like RTP or RTCP, and came when there were keys.
    public private(set) var rejectedPackets = 0

    /// The keys' profile, once agreed.
    public var profile: SRTPProfile? { sender?.profile }

    /// Whether media can be protected.
    public var isConnected: Bool { sender != nil && !hasEnded }

    /// Whether media can be protected, and there is a way to send it.
    public var canSend: Bool { mutating get { isConnected && path != nil } }

    /// A server's end: answers checks.
    /// - Parameter seed: for transaction ids; from a secure source.
    public init(lite agent: ICELiteAgent, handshake: any DTLSHandshake, seed: UInt64) {
        lite = agent
        controlling = nil
        isControlling = false
        self.handshake = handshake
        transactions = TransactionIDGenerator(seed: seed)
    }

    /// A client's end: makes the checks.
    public init(controlling agent: ICEControllingAgent, handshake: any DTLSHandshake, seed: UInt64) {
        controlling = Held(agent)
        isControlling = true
        self.handshake = handshake
        transactions = TransactionIDGenerator(seed: seed)
    }

    /// What there is to tell; nil when nothing more.
    ///
    /// With the last one the memory goes that they stood in: whether there is any is asked after each report, and of what
    /// stands elsewhere it would have to be fetched.
    public mutating func pollEvent() -> Event? {
        guard !events.isEmpty else { return nil }
        defer { if events.isEmpty { events = [] } }
        return events.removeFirst()
    }

    // MARK: Receiving

    /// Takes in a datagram; RTP and RTCP are left in the clear in the same memory.
    public mutating func handle(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant
    ) -> Received {
        guard !hasEnded else { return .nothing }
        let bytes = Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(datagram))
        switch DatagramKind(bytes) {
        case .rtp: return receiveRTP(datagram, from: path, at: now)
        case .rtcp: return receiveRTCP(datagram, from: path, at: now)
        case .stun: receiveSTUN(bytes, from: path, at: now)
        case .dtls: receiveDTLS(datagram, from: path, at: now)
        case .unknown: rejected += 1
        }
        return .nothing
    }

    private mutating func receiveRTP(
        _ packet: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant
    ) -> Received {
        guard let receiver else {
            holdEarly(packet, from: path)
            return .nothing
        }
        guard case .ok(let length) = receiver.unprotectRTP(packet) else {
            rejected += 1
            rejectedPackets += 1
            return .nothing
        }
        if !isSettled { settle() }
        controlling?.value.noteReceived(at: now)
        if path != self.path { probe(path, at: now) }
        lastHeard = now
        return .rtp(length: length)
    }

    /// The peer's first packet that the keys protect shows that it has them (DTLS6).
    private mutating func settle() {
        isSettled = true
        handshake.settle()
    }

    private mutating func receiveRTCP(
        _ packet: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant
    ) -> Received {
        guard let receiver else {
            holdEarly(packet, from: path)
            return .nothing
        }
        guard case .ok(let length) = receiver.unprotectRTCP(packet) else {
            rejected += 1
            rejectedPackets += 1
            return .nothing
        }
        if !isSettled { settle() }
        controlling?.value.noteReceived(at: now)
        controlling?.value.noteAuthenticated(at: now)
        lite?.noteAuthenticated(path: path, at: now)
        lastHeard = now
        noteLife()
        if path != self.path { probe(path, at: now) }
        return .rtcp(length: length)
    }

    /// An authentic packet, and no replay, from an address that is not the selected one: the peer may have moved (ICE7).
    private mutating func probe(_ path: NetworkPath, at now: Instant) {
        guard lite != nil, receiver?.lastWasNewest == true else { return }
        let request = [UInt8](unsafeUninitializedCapacity: STUNMessage.maximumSize) { buffer, count in
            count = lite!.probe(path, at: now, into: UnsafeMutableRawBufferPointer(buffer), using: &transactions)
        }
        if !request.isEmpty { enqueue(request, to: path) }
    }

    /// Where the last question went whether the peer is there; its answer comes from nowhere known.
    public var probedPath: NetworkPath? { lite?.probedPath }

    /// An SSRC of the peer's that none of its packets had before the last few; nil when no more.
    public mutating func takeNewSource() -> UInt32? { receiver?.takeNewSource() }

    private mutating func holdEarly(_ packet: UnsafeMutableRawBufferPointer, from path: NetworkPath) {
        guard early.count < Self.earlyLimit, isValidated(path) else { return }
        early.append(Outgoing(bytes: Array(packet), path: path))
    }

    /// A packet that came before the keys did, to be given to `handle` again after `connected`; nil when no more.
    public mutating func takeEarlyPacket() -> (bytes: [UInt8], path: NetworkPath)? {
        guard isConnected, !early.isEmpty else { return nil }
        let packet = early.removeFirst()
        return (packet.bytes, packet.path)
    }

    /// Whether the peer passed an authenticated check on this path; DTLS is taken from every such path, nominated or
    /// not (ICE2).
    public func isValidated(_ path: NetworkPath) -> Bool {
        path == self.path || lite?.isValidated(path) == true || controlling?.value.isValidated(path) == true
    }

    private mutating func receiveSTUN(_ bytes: Span<UInt8>, from path: NetworkPath, at now: Instant) {
        guard let message = STUNMessage.parse(bytes) else {
            rejected += 1
            return
        }
        var outcome = ICEOutcome()
        // The reply is written by whichever agent there is; a closure may not capture the span, so the memory is
        // taken first.
        let reply = UnsafeMutableRawBufferPointer.allocate(byteCount: STUNMessage.maximumSize, alignment: 8)
        defer { reply.deallocate() }
        if lite != nil {
            outcome = lite!.handle(bytes, message: message, from: path, at: now, reply: reply)
        } else if controlling != nil {
            outcome = controlling!.value.handle(bytes, message: message, from: path, at: now, reply: reply)
        }
        if outcome.replyLength > 0 { enqueue(Array(reply[..<outcome.replyLength]), to: path) }
        if outcome.rejection != nil { rejected += 1 }
        if outcome.isAuthenticated {
            lastHeard = now
            noteLife()
        }
        followAgent(at: now)
    }

    private mutating func receiveDTLS(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant
    ) {
        guard isValidated(path) else {
            rejected += 1
            return
        }
        handshake.handle(UnsafeRawBufferPointer(datagram), at: now)
        followHandshake(at: now)
    }

    // MARK: Following the two machines inside

    private mutating func noteLife() {
        guard isAway else { return }
        isAway = false
        events.append(.back)
    }

    private mutating func followAgent(at now: Instant) {
        if let current = lite.map({ $0.sendingPath }) ?? controlling?.value.selectedPath, current != path {
            // Also after a while without any: only the very first is no change.
            if hasStartedHandshake { events.append(.pathChanged(current)) }
            path = current
        }
        if path != nil, !hasStartedHandshake {
            hasStartedHandshake = true
            handshake.start(at: now)
            followHandshake(at: now)
        }
        while let address = controlling?.value.pollConnection() { events.append(.openConnection(to: address)) }
        while let unused = lite?.takePathToClose(at: now) ?? controlling?.value.takePathToClose() {
            events.append(.closeConnection(unused))
        }
    }

    private mutating func followHandshake(at now: Instant) {
        drainHandshake()
        switch handshake.state {
        case .new, .handshaking: break
        case .established(let keys):
            guard sender == nil else { return }
            let sender = SRTPSender(keys)
            self.sender = sender
            nearSender = Unmanaged.passUnretained(sender)
            let receiver = SRTPReceiver(keys)
            self.receiver = receiver
            nearReceiver = Unmanaged.passUnretained(receiver)
            events.append(.connected(keys.profile))
        case .failed(let reason): end(.failed(.handshake("\(reason)")))
        case .closed: end(.closed)
        }
    }

    private mutating func drainHandshake() {
        guard let path else { return }
        while handshake.hasDatagrams {
            let flight = [UInt8](unsafeUninitializedCapacity: DatagramBatch.maximumDatagramSize) { buffer, count in
                count = handshake.poll(into: UnsafeMutableRawBufferPointer(buffer)) ?? 0
            }
            if flight.isEmpty { return }
            enqueue(flight, to: path)
        }
    }

    private mutating func end(_ event: Event) {
        guard !hasEnded else { return }
        hasEnded = true
        early.removeAll()
        events.append(event)
    }

    private mutating func enqueue(_ bytes: [UInt8], to path: NetworkPath) {
        if outgoing.count == Self.outgoingLimit { outgoing.removeFirst() }
        outgoing.append(Outgoing(bytes: bytes, path: path))
    }

    // MARK: Time and output

    /// Asked after each report, and so `mutating`, though it changes nothing: nothing is asked of a copy.
    public var deadline: Instant? {
        mutating get {
            guard !hasEnded else { return nil }
            let checks = isControlling ? controlling?.value.deadline : lite?.deadline(after: lastAdvance)
            // A handshake that came to its end waits for nothing.
            return Instant.earlier(checks, hasStartedHandshake && sender == nil ? handshake.deadline : nil)
        }
    }

    public mutating func advance(to now: Instant) {
        guard !hasEnded else { return }
        lastAdvance = now
        controlling?.value.advance(to: now)
        if hasStartedHandshake { handshake.advance(to: now) }
        followAgent(at: now)
        if hasStartedHandshake { followHandshake(at: now) }
        judgeLife(at: now)
    }

    private mutating func judgeLife(at now: Instant) {
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
            noteLife()
        }
    }

    /// Appends what checks and handshakes have to send. Answers true when the batch was full and more waits.
    public mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        while !outgoing.isEmpty {
            guard batch.append(outgoing[0].bytes, to: outgoing[0].path) else { return true }
            outgoing.removeFirst()
            if outgoing.isEmpty { outgoing = [] }
        }
        guard !hasEnded, controlling != nil else { return false }
        while let room = batch.reserve() {
            guard let (length, path) = controlling!.value.poll(into: room, at: now) else { return false }
            batch.commit(length: length, to: path)
        }
        return true
    }

    /// Protects a packet that lies in two places into one; see `SRTPSender`. Zero when it was refused.
    public mutating func protectRTP(
        header: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer,
        into destination: UnsafeMutableRawBufferPointer
    ) -> Int {
        sender?.protectRTP(header: header, payload: payload, into: destination) ?? 0
    }

    /// Protects in place a packet whose header takes `headerSize` bytes. Zero when it was refused.
    public mutating func protectRTP(
        _ packet: UnsafeMutableRawBufferPointer, length: Int, headerSize: Int
    ) -> Int {
        sender?.protectRTP(packet, length: length, headerSize: headerSize) ?? 0
    }

    /// Protects a compound RTCP packet in place. Zero when it was refused.
    public mutating func protectRTCP(_ packet: UnsafeMutableRawBufferPointer, length: Int) -> Int {
        sender?.protectRTCP(packet, length: length) ?? 0
    }

    /// See `Nearness`.
    @inline(__always)
    public mutating func bringNear(_ step: Nearness) {
        switch step {
        case .own: Nearness.bring(&nearSender, through: &path)
        case .objects: if let nearSender { Nearness.bring(nearSender.toOpaque(), SRTPSender.size) }
        case .tables, .keys: nearSender?._withUnsafeGuaranteedRef { $0.bringNear(step) }
        }
    }

    /// Has brought near what a packet of the peer's needs. See `Nearness`.
    @inline(__always)
    public mutating func bringReceivingNear(_ step: Nearness) {
        switch step {
        case .own: break
        case .objects:
            if let nearReceiver { Nearness.bring(nearReceiver.toOpaque(), SRTPReceiver.size) }
            lite?.bringPathsNear()
        case .tables, .keys: nearReceiver?._withUnsafeGuaranteedRef { $0.bringNear(step) }
        }
    }

    /// Whether `poll` has anything to give, as far as that is known without asking.
    public var hasOutput: Bool { mutating get { !outgoing.isEmpty || isControlling } }

    // MARK: Paths and restarts

    public mutating func pathClosed(_ path: NetworkPath, at now: Instant) {
        lite?.pathClosed(path)
        controlling?.value.pathClosed(path, at: now)
        guard self.path == path else { return }
        self.path = nil
        // What was measured of the closed one is not of the other, now or when there is one.
        if !hasEnded { followAgent(at: now) }
    }

    /// The driver opened the connection that `openConnection` asked for.
    public mutating func pathOpened(_ path: NetworkPath, at now: Instant) {
        controlling?.value.connectionOpened(path, at: now)
    }

    /// The connection that `openConnection` asked for could not be had.
    public mutating func connectionFailed(to address: TransportAddress) {
        controlling?.value.connectionFailed(to: address)
    }

    /// Whether media or reports come all the time from now on, so that silence of 300 ms means trouble.
    public mutating func expectMedia(_ isExpected: Bool = true) { controlling?.value.expectsMedia = isExpected }

    /// The addresses of our sockets are these from now on.
    public mutating func setLocalAddresses(_ addresses: [TransportAddress], at now: Instant) {
        controlling?.value.setLocalAddresses(addresses, at: now)
        followAgent(at: now)
    }

    /// See `ICEControllingAgent.addRelay`.
    public mutating func addRelay(_ address: TransportAddress, from local: TransportAddress, at now: Instant) {
        controlling?.value.addRelay(address, from: local, at: now)
    }

    public mutating func removeRelay(_ address: TransportAddress, at now: Instant) {
        controlling?.value.removeRelay(address, at: now)
        followAgent(at: now)
    }

    public mutating func addRemoteCandidate(_ candidate: ICECandidate, at now: Instant) {
        controlling?.value.addRemoteCandidate(candidate, at: now)
    }

    /// New credentials on both sides; the old ones hold until the new pair is nominated (ICE12).
    public mutating func restart(local: ICECredentials, remote: ICECredentials, at now: Instant) {
        lite?.restart(local: local, remote: remote)
        controlling?.value.restart(local: local, remote: remote, at: now)
    }

    /// The round trip of the last check, where this side makes checks.
    public var roundTrip: TimeSpan? { controlling?.value.roundTrip }

    /// Says goodbye; what `poll` gives afterwards is the last.
    public mutating func close(at now: Instant) {
        guard !hasEnded else { return }
        handshake.close()
        drainHandshake()
        hasEnded = true
    }
}
