import PCastMedia
import PCastRTP
import PCastWebRTC

/// A viewer that decrypts each packet, looks at it, and decodes nothing: a real peer with all the feedback that the
/// others give, so light that one thread has hundreds of them.
final class LightViewer {
    private var transport: SecureTransport
    private var receiver: MediaReceiver
    private let clock: WallClockReference
    private(set) var video = PacketWitness(.video, rate: .video)
    private(set) var audio = PacketWitness(.audio, rate: .opus)
    /// Why there is nothing more to come.
    private(set) var end: String?

    /// - Parameters:
    ///   - answer: the platform's.
    ///   - address: of this viewer's socket.
    /// - Throws: `SDPError` when the answer does not fit the offer.
    init(
        _ own: LightViewerOffer, answer: SessionDescription, address: TransportAddress, clock: WallClockReference,
        at now: Instant
    ) throws(SDPError) {
        let session = try own.offer.accept(answer)
        let remote = session.remoteTransport
        guard let theirs = ICECredentials(ufrag: remote.iceUfrag, password: remote.icePwd) else {
            throw .missingICECredentials
        }
        var generator = SystemRandomNumberGenerator()
        var agent = ICEControllingAgent(
            local: own.credentials, remote: theirs, tieBreaker: generator.next(), addresses: [address],
            seed: generator.next())
        for candidate in remote.candidates.compactMap({ ICECandidate($0) }) {
            agent.addRemoteCandidate(candidate, at: now)
        }
        let handshake = OpenSSLHandshake(
            certificate: own.certificate, role: session.isDTLSClient ? .client : .server,
            expectedFingerprints: remote.fingerprints.compactMap { DTLSFingerprint($0) })
        transport = SecureTransport(controlling: agent, handshake: handshake, seed: generator.next())
        receiver = MediaReceiver(
            session.media, reporterSSRC: generator.next() | 1, cname: "light", measuresRoundTrip: true)
        self.clock = clock
    }

    /// Whether pictures and sound have come.
    var isWatching: Bool { end == nil && video.frames > 0 && audio.frames > 0 }

    /// Packets that it asked for again.
    var requested: Int { Int((receiver.video?.missing.requested ?? 0) + (receiver.audio?.missing.requested ?? 0)) }

    func beginCounting() {
        video.begin()
        audio.begin()
    }

    func close(at now: Instant) { transport.close(at: now) }

    // MARK: Packets

    func handle(_ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant) {
        switch transport.handle(datagram, from: path, at: now) {
        case .nothing: break
        case .rtp(let length): receiveMedia(UnsafeRawBufferPointer(rebasing: datagram[..<length]), at: now)
        case .rtcp(let length): receiveControl(UnsafeRawBufferPointer(rebasing: datagram[..<length]), at: now)
        }
        follow(at: now)
    }

    private func receiveMedia(_ datagram: UnsafeRawBufferPointer, at now: Instant) {
        guard let packet = receiver.receive(datagram, at: now) else { return }
        transport.expectMedia()
        let captured =
            packet.forwarded.absoluteCaptureTime.map { WallTime(ntpTimestamp: $0.ntpTimestamp) }
            ?? (packet.type == .video ? receiver.video : receiver.audio)?.captureClock?.wallTime(of: packet.timestamp)
        let arrival = clock.wallTime(at: now)
        if packet.type == .video {
            video.received(packet, captureTime: captured, arrival: arrival)
        } else {
            audio.received(packet, captureTime: captured, arrival: arrival)
        }
    }

    private func receiveControl(_ datagram: UnsafeRawBufferPointer, at now: Instant) {
        let bytes = Span<UInt8>(_unsafeBytes: datagram)
        let wallTime = clock.wallTime(at: now)
        var reader = RTCPReader()
        while let control = reader.next(in: bytes) { receiver.receive(control, in: bytes, wallTime: wallTime, at: now) }
    }

    private func follow(at now: Instant) {
        while let event = transport.pollEvent() {
            switch event {
            case .connected:
                if let roundTrip = transport.roundTrip { receiver.setRoundTrip(roundTrip) }
                while let early = transport.takeEarlyPacket() { handleEarly(early.bytes, from: early.path, at: now) }
            // Datagrams or nothing.
            case .openConnection(let address): transport.connectionFailed(to: address)
            case .closed, .failed: end = "\(event)"
            case .pathChanged, .away, .back, .closeConnection: break
            }
        }
    }

    private func handleEarly(_ bytes: [UInt8], from path: NetworkPath, at now: Instant) {
        var bytes = bytes
        bytes.withUnsafeMutableBytes { handle($0, from: path, at: now) }
    }

    // MARK: Time and output

    func advance(to now: Instant) {
        transport.advance(to: now)
        follow(at: now)
    }

    var deadline: Instant? {
        transport.canSend ? Instant.earlier(transport.deadline, receiver.deadline) : transport.deadline
    }

    func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        if transport.poll(into: &batch, at: now) { return true }
        return receiver.poll(through: &transport, into: &batch, wallTime: clock.wallTime(at: now), at: now)
    }
}
