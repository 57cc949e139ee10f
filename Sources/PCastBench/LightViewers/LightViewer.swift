import PCastCore
import PCastRTP
import PCastRendering
import PCastWebRTC

/// A viewer that decrypts and inspects packets and sends all the feedback of a full viewer, but decodes nothing; one
/// thread can run hundreds.
final class LightViewer: LightPeer {
    private var transport: SecureTransport
    private var receiver: MediaReceiver
    /// A copy of the receiver's SSRC, because reading it from `receiver` for each packet took a third of the load's CPU
    /// time.
    private var videoSSRC: UInt32?
    private var (videoClock, audioClock): (CaptureClock?, CaptureClock?) = (nil, nil)
    private let clock: WallClockReference
    private let wantsAudio: Bool
    /// One of this number of packets is decrypted; of the others, only the RTP header is read, which SRTP does not
    /// encrypt.
    private let decryptsEach: Int
    private var untilDecrypted = 0
    /// Records the sizes of the first packets; nil unless they are to be recorded.
    var tap: PacketTap?
    /// Records the arrivals of frames over several sessions; nil unless they are to be recorded.
    var gap: VideoGap?
    /// The time at which the viewer began to join, and the arrival of the last packet of the first frame, which is a
    /// key frame.
    let requestedAt: Instant
    private(set) var firstFrame: Instant?
    private(set) var delays = DelayHistogram()
    private(set) var video = PacketChecker(.video, rate: .video)
    private(set) var audio = PacketChecker(.audio, rate: .opus)
    /// The reason for which the session has ended; nil while it has not.
    private(set) var end: String?

    /// Creates a viewer from its own offer and the platform's answer. `address` is the address of its socket; with a
    /// `decryptsEach` of 8, one of 8 packets is decrypted. Throws `SDPError` if the answer does not match the offer.
    convenience init(
        _ own: LightViewerOffer, answer: SessionDescription, address: TransportAddress, clock: WallClockReference,
        decryptsEach: Int = 1, requestedAt: Instant? = nil, at now: Instant
    ) throws(SDPError) {
        try self.init(
            own.identity, session: try own.offer.accept(answer), wantsAudio: own.wantsAudio, address: address,
            clock: clock, decryptsEach: decryptsEach, requestedAt: requestedAt, at: now)
    }

    /// Creates a viewer of a negotiated session, whichever side made the offer. Throws `SDPError` if the remote
    /// description has no ICE credentials.
    init(
        _ identity: LightIdentity, session: NegotiatedSession, wantsAudio: Bool, address: TransportAddress,
        clock: WallClockReference, decryptsEach: Int, requestedAt: Instant?, at now: Instant
    ) throws(SDPError) {
        var generator = SystemRandomNumberGenerator()
        transport = try identity.transport(to: session, from: address, using: &generator, at: now)
        receiver = MediaReceiver(
            session.media, reporterSSRC: generator.next() | 1, cname: "light", measuresRoundTrip: true)
        self.clock = clock
        self.decryptsEach = decryptsEach
        self.requestedAt = requestedAt ?? now
        self.wantsAudio = wantsAudio
    }

    /// Whether video, and audio if requested, has arrived.
    var isWatching: Bool { end == nil && video.frames > 0 && (audio.frames > 0 || !wantsAudio) }

    /// The negotiated SRTP profile; nil before the DTLS handshake has finished.
    var profile: SRTPProfile? { transport.profile }

    /// Datagrams rejected since `beginCounting()`, because they were not authentic or were replayed. A late response to
    /// a connectivity check also counts.
    var rejected: Int { transport.rejectedPackets - rejectedBefore }
    private var rejectedBefore = 0

    /// Packets that the viewer has requested by NACK.
    var requested: Int { Int((receiver.video?.missing.requested ?? 0) + (receiver.audio?.missing.requested ?? 0)) }

    func beginCounting() {
        video.begin()
        audio.begin()
        rejectedBefore = transport.rejectedPackets
        delays = DelayHistogram()
    }

    /// Lets the next frame be recorded as the first one.
    func awaitFrame() { firstFrame = nil }

    func close(at now: Instant) { transport.close(at: now) }

    // MARK: Packets

    func handle(_ datagram: MutableByteView, from path: NetworkPath, at now: Instant) {
        if let tap, DatagramKind(datagram.span) == .rtp {
            tap.take(ByteView(datagram), of: videoSSRC)
        }
        if maySkip(datagram) {
            untilDecrypted -= 1
            let length = datagram.count - Self.tagSize
            return receiveMedia(ByteView(datagram.extracting(..<length)), isClear: false, at: now)
        }
        switch transport.handle(datagram, from: path, at: now) {
        case .nothing: break
        case .rtp(let length):
            untilDecrypted = decryptsEach - 1
            receiveMedia(ByteView(datagram.extracting(..<length)), isClear: true, at: now)
        case .rtcp(let length): receiveControl(ByteView(datagram.extracting(..<length)), at: now)
        }
        follow(at: now)
    }

    /// The tag size of AEAD_AES_128_GCM, which the platform prefers (RFC 7714).
    private static let tagSize = 16

    /// Whether a datagram is a video packet outside the sample. Padding and retransmitted packets cannot be evaluated
    /// without decryption.
    private func maySkip(_ datagram: MutableByteView) -> Bool {
        guard untilDecrypted > 0, datagram.count > 40, datagram[0] & 0xE0 == 0x80,
            !RTPHeader.isRTCP(secondByte: datagram[1]), let ssrc = videoSSRC
        else { return false }
        return datagram.loadUnaligned(fromByteOffset: 8, as: UInt32.self).bigEndian == ssrc
    }

    private func receiveMedia(_ datagram: ByteView, isClear: Bool, at now: Instant) {
        guard let packet = receiver.receive(datagram, at: now) else { return }
        if videoSSRC == nil { videoSSRC = receiver.video?.ssrc }
        if decryptsEach == 1 { transport.expectMedia() }
        if packet.type == .video {
            if packet.marker, firstFrame == nil { firstFrame = now }
            if packet.marker, !packet.payload.isEmpty { gap?.receiveFrame(at: now) }
            if isClear { inspect(packet, of: datagram, at: now) }
        }
        let captured =
            packet.forwarded.absoluteCaptureTime.map { WallTime(ntpTimestamp: $0.ntpTimestamp) }
            ?? (packet.type == .video ? videoClock : audioClock)?.wallTime(of: packet.timestamp)
        let arrival = clock.wallTime(at: now)
        if packet.type == .video {
            video.received(packet, captureTime: captured, arrival: arrival)
        } else {
            audio.received(packet, captureTime: captured, arrival: arrival)
        }
    }

    /// Evaluates the parts of a video packet that are encrypted: the time of sending and the start of a key frame.
    private func inspect(_ packet: MediaReceiver.Packet, of datagram: ByteView, at now: Instant) {
        if let sent = LightPublisher.sendTime(of: datagram, packet.payload) { delays.add(now - sent) }
        let payload = datagram.extracting(packet.payload).span
        if KeyFrameDetector.inspect(codec: packet.codec, payload: payload).isKeyFrame {
            receiver.keyFrameArrived(sequence: packet.sequence, at: now)
        }
    }

    private func receiveControl(_ datagram: ByteView, at now: Instant) {
        let bytes = datagram.span
        let wallTime = clock.wallTime(at: now)
        var reader = RTCPReader()
        while let control = reader.next(in: bytes) { receiver.receive(control, in: bytes, wallTime: wallTime, at: now) }
        (videoClock, audioClock) = (receiver.video?.captureClock, receiver.audio?.captureClock)
    }

    private func follow(at now: Instant) {
        while let event = transport.pollEvent() {
            switch event {
            case .connected:
                if let roundTrip = transport.roundTrip { receiver.setRoundTrip(roundTrip) }
                while let early = transport.takeEarlyPacket() { handleEarly(early.bytes, from: early.path, at: now) }
            // Light viewers use UDP only.
            case .openConnection(let address): transport.connectionFailed(to: address)
            case .closed, .failed: end = "\(event)"
            case .reachable, .pathChanged, .away, .back, .closeConnection: break
            }
        }
    }

    private func handleEarly(_ bytes: [UInt8], from path: NetworkPath, at now: Instant) {
        var bytes = bytes
        bytes.withMutableByteView { handle($0, from: path, at: now) }
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

/// Records the header size and the total size of each video packet of a viewer, as one line for each frame;
/// `scripts/fanout-limit.c` reads them.
final class PacketTap {
    private let limit: Int
    private(set) var frames: [[(header: Int, size: Int)]] = []
    private var current: [(header: Int, size: Int)] = []
    private var hasBegun = false

    /// Creates a tap that records the given number of complete frames.
    init(frames limit: Int) { self.limit = limit }

    var isFull: Bool { frames.count >= limit }

    /// Records a datagram if its SSRC is `source`, the SSRC of the video. Retransmissions and bandwidth probes have
    /// another one.
    func take(_ datagram: ByteView, of source: UInt32?) {
        guard !isFull, let header = RTPHeader.parseProtected(datagram.span), header.ssrc == source
        else { return }
        if hasBegun { current.append((header.headerSize, datagram.count)) }
        guard header.marker else { return }
        if hasBegun { frames.append(current) }
        hasBegun = true
        current = []
    }

    var text: String {
        frames.map { $0.map { "\($0.header):\($0.size)" }.joined(separator: " ") + "\n" }.joined()
    }

    /// The mean size of a datagram in bytes.
    var meanSize: Double {
        let sizes = frames.joined().map(\.size)
        return Double(sizes.reduce(0, +)) / Double(max(1, sizes.count))
    }
}

/// Checks whether the packets of one track arrive completely, in order and in time at one viewer.
struct PacketChecker: Sendable {
    /// Packets that arrived with their own sequence number, without retransmissions.
    private(set) var packets = 0
    /// Sequence numbers that had not arrived when a later one did.
    private(set) var missing = 0
    /// Packets that arrived after a later one, or twice.
    private(set) var reordered = 0
    /// Packets that arrived by RTX: retransmissions and bandwidth probes.
    private(set) var repeated = 0
    /// Frames whose last packet arrived; each audio packet is a frame.
    private(set) var frames = 0
    /// Frames with an earlier capture time than their predecessor.
    private(set) var backwards = 0
    /// The longest time between the captures of successive frames.
    private(set) var longestStep = TimeSpan.zero
    /// The time from a frame's capture to the arrival of its last packet.
    private(set) var lags = LatencyHistogram.ofLightViewer

    private let type: MediaType
    private let rate: ClockRate
    private var newest: (sequence: Int64, timestamp: UInt32)?

    init(_ type: MediaType, rate: ClockRate) {
        self.type = type
        self.rate = rate
    }

    /// Resets the statistics; the position in the stream is kept.
    mutating func begin() {
        let newest = newest
        self = PacketChecker(type, rate: rate)
        self.newest = newest
    }

    /// Counts a packet. `captureTime` is the capture time of its timestamp by this machine's clock, nil while it is
    /// unknown; `arrival` is by the same clock.
    mutating func received(_ packet: MediaReceiver.Packet, captureTime: WallTime?, arrival: WallTime) {
        guard !packet.isRetransmission else {
            repeated += 1
            return
        }
        packets += 1
        guard let newest else {
            self.newest = (packet.sequence, packet.timestamp)
            return
        }
        let step = packet.sequence - newest.sequence
        guard step > 0 else {
            reordered += 1
            return
        }
        missing += Int(step - 1)
        // A padding packet has a sequence number, but no frame.
        guard !packet.payload.isEmpty else {
            self.newest?.sequence = packet.sequence
            return
        }
        let ticks = Int32(bitPattern: packet.timestamp &- newest.timestamp)
        if ticks < 0 { backwards += 1 }
        longestStep = max(longestStep, rate.span(ofTicks: Int64(ticks)))
        self.newest = (packet.sequence, packet.timestamp)
        guard packet.marker || type == .audio else { return }
        frames += 1
        if let captureTime { lags.add(arrival - captureTime) }
    }
}
