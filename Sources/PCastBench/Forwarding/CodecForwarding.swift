import PCastCore
import PCastRTP
import PCastSFU
import PCastTestSupport
import PCastWebRTC

/// A stream in one codec that an SFU in memory forwards to viewers. The packets are made here, so that those of AV1 have a
/// dependency descriptor. Checks, handshakes and keys are real. After them, the viewers send nothing, so that all further
/// work is that of the SFU.
final class CodecForwarding {
    private var sfu: SFU
    private let publisher: CodecPeer
    private let viewers: [CodecPeer]
    private var frames: CodecFrames
    private var batch = DatagramBatch()
    private var incoming = DatagramBatch()
    private let scratch = ByteStorage(byteCount: DatagramBatch.maximumDatagramSize, alignment: 64)
    private var now = InMemoryHarness.beginning

    /// The number of packets that the publisher sent, and that left the SFU, in ``measure(for:)``.
    private(set) var sent = 0
    private(set) var forwarded = 0
    /// The number of allocations in ``measure(for:)``; 0 without the allocation counter.
    private(set) var allocations = 0

    /// Connects the peers, and forwards for a second, in which logs fill up and tables grow to their size.
    ///
    /// - Parameters:
    ///   - codec: H.264 or AV1.
    ///   - count: The number of viewers.
    /// - Throws: `BenchFailure` if the peers do not connect, or do not negotiate the descriptor.
    init(_ codec: Codec, viewers count: Int) throws {
        let harness = try InMemoryHarness()
        let certificate = try DTLSCertificate.generate(at: WallTime(millisecondsSinceEpoch: 1_800_000_000_000))
        var generator = SeededGenerator(seed: 11)
        var sfu = harness.sfu()
        let stream = StreamID("bench")
        let beginning = InMemoryHarness.beginning
        var peers: [CodecPeer] = []
        for number in 0...count {
            let identity = LightIdentity(
                certificate: certificate, sendsNoFeedback: true, hasDescriptors: true, using: &generator)
            let offer = identity.offer([CodecPeer.section(codec, sends: number == 0)], using: &generator)
            let peer = PeerID(UInt64(number))
            let answer =
                number == 0
                ? try sfu.publish(peer, stream: stream, offer: offer.description, at: beginning)
                : try sfu.view(peer, stream: stream, offer: offer.description, at: beginning)
            peers.append(
                try CodecPeer(number, identity, offer, answer: answer, codec, using: &generator, at: beginning))
        }
        self.sfu = sfu
        publisher = peers[0]
        viewers = Array(peers.dropFirst())
        frames = CodecFrames(codec)
        run(for: .seconds(2), publishes: false)
        guard peers.allSatisfy(\.isConnected) else { throw BenchFailure("the peers in memory did not connect") }
        run(for: .seconds(1), publishes: true)
    }

    /// Forwards for a time, in which packets and allocations are counted.
    func measure(for span: TimeSpan) {
        let end = now + span
        while now < end {
            now += InMemoryHarness.step
            incoming.removeAll()
            publisher.advance(to: now)
            publish()
            sent += incoming.count
            publisher.poll(into: &incoming, at: now)
            let before = AllocationCounter.loaded?.count ?? 0
            measuredForwardingInput()
            allocations += (AllocationCounter.loaded?.count ?? 0) - before
            var hasMore = true
            while hasMore {
                let before = AllocationCounter.loaded?.count ?? 0
                hasMore = measuredForwardingOutput()
                allocations += (AllocationCounter.loaded?.count ?? 0) - before
                for index in 0..<batch.count where batch[index].path.remote != publisher.address { forwarded += 1 }
                deliver(toViewers: false)
            }
        }
    }

    /// Lets all peers send and receive for a time.
    private func run(for span: TimeSpan, publishes: Bool) {
        let end = now + span
        while now < end {
            now += InMemoryHarness.step
            incoming.removeAll()
            publisher.advance(to: now)
            if publishes { publish() }
            publisher.poll(into: &incoming, at: now)
            deliverToSFU(from: publisher)
            // While media is published, viewers send nothing, as later.
            for viewer in viewers where !publishes {
                incoming.removeAll()
                viewer.advance(to: now)
                viewer.poll(into: &incoming, at: now)
                deliverToSFU(from: viewer)
            }
            var hasMore = true
            while hasMore {
                hasMore = writeBatch()
                deliver(toViewers: !publishes)
            }
        }
    }

    private func publish() {
        while let frame = frames.next(at: now) { publisher.send(frame, into: &incoming) }
    }

    private func deliver(toViewers: Bool) {
        for index in 0..<batch.count {
            let entry = batch[index]
            let number = InMemoryHarness.number(of: entry.path.remote)
            guard number == 0 || toViewers && number <= viewers.count else { continue }
            let peer = number == 0 ? publisher : viewers[number - 1]
            scratch.bytes.copyMemory(from: batch.bytes(of: entry))
            peer.handle(
                scratch.bytes.extracting(..<entry.length),
                from: NetworkPath(local: peer.address, remote: InMemoryHarness.relayAddress), at: now)
        }
    }

    private func deliverToSFU(from peer: CodecPeer) {
        let path = NetworkPath(local: InMemoryHarness.relayAddress, remote: peer.address)
        for index in 0..<incoming.count {
            let entry = incoming[index]
            scratch.bytes.copyMemory(from: incoming.bytes(of: entry))
            sfu.handle(scratch.bytes.extracting(..<entry.length), from: path, at: now)
        }
    }

    /// Lets the SFU write a batch. Returns true if it has more.
    private func writeBatch() -> Bool {
        batch.removeAll()
        if let deadline = sfu.earliestDeadline, deadline <= now { sfu.advance(to: now) }
        let hasMore = sfu.poll(into: &batch, at: now)
        while sfu.pollEvent() != nil {}
        return hasMore
    }

    // MARK: Functions whose instructions are counted

    /// The pattern of the names of the functions whose instructions Callgrind counts.
    static let countedNames = "*measuredForwarding*"

    /// Delivers the publisher's datagrams to the SFU.
    @inline(never)
    private func measuredForwardingInput() { deliverToSFU(from: publisher) }

    /// Counted variant of `writeBatch`.
    @inline(never)
    private func measuredForwardingOutput() -> Bool { writeBatch() }
}

/// Frames of random bytes at 30 frames per second, 1.3 Mbit/s, with a key frame in each second. They are valid for RTP
/// payload formats, but not for decoders. The bit rate is below that which viewers are sent without feedback.
private struct CodecFrames {
    /// An encoded frame.
    struct Frame {
        let bytes: [UInt8]
        let isKeyFrame: Bool
        let number: Int
    }

    private static let framesPerSecond: Int64 = 30
    private let keyFrame: [UInt8]
    private let frame: [UInt8]
    private var count = 0
    private var due: Instant?

    init(_ codec: Codec) {
        var random = SeededGenerator(seed: 7)
        // No byte is zero, so that no start code occurs.
        func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 1...255, using: &random) } }
        let start: [UInt8] = [0, 0, 0, 1]
        if codec == .av1 {
            // A temporal delimiter, and a sequence header of libaom for 208x120.
            let sequence: [UInt8] = [0x0A, 0x0A, 0, 0, 0, 3, 0xB6, 0x7F, 0x73, 0x6B, 0xE4, 0x01]
            keyFrame = [0x12, 0] + sequence + Self.unit([0x10] + bytes(15_000))
            frame = [0x12, 0] + Self.unit([0x30] + bytes(5_000))
        } else {
            keyFrame =
                start + [0x67, 0x42, 0xC0, 0x1F, 0xDA, 0x01] + start + [0x68, 0xCE, 0x3C, 0x80] + start + [0x65, 0x88]
                + bytes(15_000)
            frame = start + [0x41, 0x9A] + bytes(5_000)
        }
    }

    /// Returns an OBU with a frame, whose size has two bytes.
    private static func unit(_ frame: [UInt8]) -> [UInt8] {
        [0x32, UInt8(frame.count & 0x7F | 0x80), UInt8(frame.count >> 7)] + frame
    }

    /// Returns the next frame; nil if it is not due yet.
    mutating func next(at now: Instant) -> Frame? {
        let time = due ?? now
        guard time <= now else { return nil }
        due = time + TimeSpan.seconds(1 as Int64) / Self.framesPerSecond
        defer { count += 1 }
        let isKeyFrame = count % Int(Self.framesPerSecond) == 0
        return Frame(bytes: isKeyFrame ? keyFrame : frame, isKeyFrame: isKeyFrame, number: count)
    }
}

/// A publisher or a viewer of a ``CodecForwarding``.
private final class CodecPeer {
    let address: TransportAddress
    private let codec: Codec
    private let media: NegotiatedMedia
    private var transport: SecureTransport
    private(set) var isConnected = false
    private var sequence: UInt16 = 1_000
    private var reader = LayerReader()
    private let payload = ByteStorage(byteCount: DatagramBatch.maximumDatagramSize, alignment: 64)

    /// The extended fields of a key frame: a structure of two temporal layers, with the templates of key frames, of frames
    /// of the lower layer, and of those of the upper one.
    private static let structure: [UInt8] = [0x80, 0x01, 0x1E, 0xA8, 0x51, 0x40, 0x00]

    /// Returns the section of a peer's offer.
    static func section(_ codec: Codec, sends: Bool) -> OfferSection {
        let format =
            codec == .h264
            ? SourceFormat.h264(H264Format(profile: .constrainedBaseline, level: .level31))
            : SourceFormat(codec: codec, profile: VideoProfile(mainOf: codec))
        let source = OutgoingSource(
            ssrc: 0x1000, rtxSSRC: 0x1001, cname: "bench",
            msid: MediaStreamIdentification(stream: "bench", track: "video"))
        return OfferSection(
            type: .video, direction: sends ? .sendOnly : .receiveOnly, format: format, source: sends ? source : nil)
    }

    init(
        _ number: Int, _ identity: LightIdentity, _ offer: Offer, answer: SessionDescription, _ codec: Codec,
        using generator: inout SeededGenerator, at now: Instant
    ) throws {
        address = TransportAddress(ip: IPAddress(v4: 0x0A01_0000 + UInt32(number)), port: 5_000)
        self.codec = codec
        let session = try offer.accept(answer)
        guard let media = session.media.first, media.codec == codec else {
            throw BenchFailure("the SFU did not accept \(codec.rawValue)")
        }
        guard codec != .av1 || media.extensionMap.id(of: .dependencyDescriptor) != nil else {
            throw BenchFailure("the SFU did not accept the dependency descriptor")
        }
        self.media = media
        transport = try identity.transport(to: session, from: address, using: &generator, at: now)
    }

    func handle(_ datagram: MutableByteView, from path: NetworkPath, at now: Instant) {
        _ = transport.handle(datagram, from: path, at: now)
        followEvents()
    }

    func advance(to now: Instant) {
        if let deadline = transport.deadline, deadline <= now { transport.advance(to: now) }
        followEvents()
    }

    func poll(into batch: inout DatagramBatch, at now: Instant) { _ = transport.poll(into: &batch, at: now) }

    private func followEvents() {
        while let event = transport.pollEvent() {
            switch event {
            case .connected: isConnected = true
            case .openConnection(let address): transport.connectionFailed(to: address)
            case .reachable, .pathChanged, .away, .back, .closeConnection, .closed, .failed: break
            }
        }
    }

    /// Writes the packets of a frame, which fit in a batch.
    func send(_ frame: CodecFrames.Frame, into batch: inout DatagramBatch) {
        guard transport.canSend, let path = transport.path else { return }
        frame.bytes.withByteView { bytes in
            var packetizer = PayloadPacketizer(codec: codec, bytes: bytes)
            var isFirst = true
            while let packet = packetizer.next(into: payload.bytes) {
                guard let buffer = batch.reserve() else { break }
                let length = write(
                    ByteView(payload.bytes.extracting(0..<packet.length)), of: frame, isFirst: isFirst,
                    isLast: packet.isLast, into: buffer)
                batch.commit(length: length, to: path)
                isFirst = false
            }
        }
    }

    private func write(
        _ payload: ByteView, of frame: CodecFrames.Frame, isFirst: Bool, isLast: Bool, into buffer: MutableByteView
    ) -> Int {
        let header = RTPHeader(
            marker: isLast, payloadType: media.payloadType, sequenceNumber: sequence,
            timestamp: UInt32(truncatingIfNeeded: frame.number * 3_000), ssrc: media.localSSRC ?? 0)
        var values = RTPExtensionValues()
        values.mid = media.mid.flatMap { RTPStreamIdentifier($0) }
        let size: Int
        if codec == .av1 {
            let number = UInt16(truncatingIfNeeded: frame.number)
            // A template of a key frame, of the lower layer, or of the upper one.
            let template: UInt8 = frame.isKeyFrame ? 0 : frame.number % 2 == 0 ? 1 : 2
            let fields = [
                (isFirst ? 0x80 : 0) | (isLast ? 0x40 : 0) | template, UInt8(number >> 8),
                UInt8(truncatingIfNeeded: number),
            ]
            size = (fields + (frame.isKeyFrame && isFirst ? Self.structure : [])).withByteView { bytes in
                _ = reader.read(codec, payload: payload, descriptor: bytes, sequence: Int64(frame.number) << 8)
                let descriptor = OutgoingDescriptor(
                    reader.logged, source: bytes, frameNumber: number, activeTargets: nil)
                return header.write(
                    into: buffer, extensions: values, descriptor: descriptor, map: media.extensionMap
                ).size
            }
        } else {
            size = header.write(into: buffer, extensions: values, map: media.extensionMap).size
        }
        buffer.extracting(size...).copyMemory(from: payload)
        sequence &+= 1
        return transport.protectRTP(buffer, length: size + payload.count, headerSize: size)
    }
}
