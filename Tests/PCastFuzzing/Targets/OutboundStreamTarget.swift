import PCastCore
import PCastRTP

/// A packet log and a stream to a peer, under any order of arrivals, losses and requests.
enum OutboundStreamTarget {
    /// The packets that were sent, with their sequence numbers and what a peer takes them for.
    private struct Peer {
        /// A packet of the source since its last start.
        struct Packet: Equatable {
            var epoch: Int
            var sequence: Int64
        }

        var sent: [UInt16: Packet] = [:]
        var epoch = 0
        /// Whether the former numbers apply until the first packet with new ones.
        var awaitsFirst = false
        var transportSequenceNumber: UInt16 = 0
        var now = Instant(nanoseconds: 1_000_000_000)
        var sequence: Int64 = 65_530

        mutating func begin() {
            epoch += 1
            awaitsFirst = false
        }
    }

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(Array(bytes.prefix(8192)))
        var log = PacketLog(capacity: 16)
        var stream = OutboundStream(parameters, firstSequenceNumber: 32_000, retransmissionSequenceNumber: 9)
        var peer = Peer()
        while !input.isAtEnd { try step(&log, &stream, &peer, &input) }
        try drain(log, &stream, &peer)
        return !peer.sent.isEmpty
    }

    private static func step(
        _ log: inout PacketLog, _ stream: inout OutboundStream, _ peer: inout Peer, _ input: inout FuzzInput
    ) throws(BrokenInvariant) {
        let operation = input.byte()
        peer.now += .milliseconds(Int64(operation >> 4))
        switch operation % 8 {
        case 0...3: try append(input.byte(), to: &log, &peer)
        case 4: try drain(log, &stream, &peer)
        case 5:
            let behind = UInt16(input.byte())
            stream.requestRetransmission(
                of: (peer.sent.keys.max() ?? 0) &- behind, in: log, roundTrip: .milliseconds(30), at: peer.now)
        case 6 where operation >> 3 == 1:
            let layers = input.byte()
            stream.select(OperatingPoint(spatial: layers >> 4 & 7, temporal: layers & 7))
            let dropped = stream.dropResends(aboveLayersIn: log, over: Int(input.byte()))
            if let dropped, log.position(ofSequence: dropped) == nil {
                throw BrokenInvariant(description: "a retransmission was dropped whose packet is not in the log")
            }
        case 6:
            guard log.end > log.start else { return }
            let position = log.start + Int64(input.byte()) % (log.end - log.start)
            stream.begin(at: input.byte() & 1 == 0 ? position : log.newestKeyFrame ?? position, in: log)
            peer.begin()
        default:
            try drain(log, &stream, &peer)
            stream.beginAtEnd(of: log)
            peer.awaitsFirst = true
        }
    }

    private static func append(_ choice: UInt8, to log: inout PacketLog, _ peer: inout Peer) throws(BrokenInvariant) {
        // Usually the next number; sometimes a gap or a reordered packet.
        let step = [1, 1, 1, 1, 2, 3, -1, -2][Int(choice) % 8] as Int64
        // A VP8 payload with a temporal layer, or a VP9 payload with both kinds, or one without layers.
        let (codec, payload): (Codec, [UInt8]) =
            switch choice & 0x18 {
            case 0x08: (.vp8, [0x90, 0x20, choice & 0xE0, 0x11, choice])
            case 0x10: (.vp9, [0x24 | choice & 0x40, choice & 0x36 | (choice & 0x80) >> 1, 0, choice])
            default: (.h264, [choice, choice])
            }
        let entry = PacketLog.Entry(
            sequence: peer.sequence + step, timestamp: UInt32(truncatingIfNeeded: (peer.sequence + step) / 2),
            marker: choice & 1 == 1, startsKeyFrame: choice >> 5 == 0, arrival: peer.now,
            layers: FrameLayers(codec, payload.span))
        peer.sequence = max(peer.sequence, entry.sequence)
        let position = payload.withByteView { log.append(entry, payload: $0) }
        try check(position == log.end - 1, "a packet at another place than the end")
        try check(log.position(ofSequence: entry.sequence) == position, "a packet that is not found")
        try check(log.end - log.start <= Int64(log.capacity), "more packets than there is room for")
        if let keyFrame = log.newestKeyFrame { try check(log[keyFrame].startsKeyFrame, "no key frame there") }
    }

    private static func drain(
        _ log: borrowing PacketLog, _ stream: inout OutboundStream, _ peer: inout Peer
    ) throws(BrokenInvariant) {
        if stream.isBehindLog(log) { stream.pause() }
        let memory = ByteStorage(byteCount: 256)
        let room = memory.bytes
        while let packet = stream.next(
            in: log, at: peer.now, sendTime: AbsoluteSendTime(peer.now),
            transportSequenceNumber: &peer.transportSequenceNumber, into: room)
        {
            let bytes = Array(room)
            guard let header = RTPHeader.parse(bytes.span), header.headerSize == packet.headerSize else {
                throw BrokenInvariant(description: "a header that does not read back")
            }
            if peer.awaitsFirst, !packet.isRetransmission { peer.begin() }
            let content = Peer.Packet(epoch: peer.epoch, sequence: log[packet.position].sequence)
            if packet.isRetransmission {
                let original = UInt16(bytes[header.headerSize]) << 8 | UInt16(bytes[header.headerSize + 1])
                // A packet that was late and has never been sent may be requested, too.
                let before = peer.sent.updateValue(content, forKey: original)
                try check(before == nil || before == content, "\(original) sent again as another packet")
                try checkOrder(content, original, peer)
            } else {
                let before = peer.sent.updateValue(content, forKey: header.sequenceNumber)
                try check(before == nil || before == content, "\(header.sequenceNumber) sent as two packets")
                try checkOrder(content, header.sequenceNumber, peer)
            }
        }
        try check(!stream.hasPackets(in: log), "packets that are there and not given")
    }

    /// Checks that the packets before and after a packet are in the order of the source.
    private static func checkOrder(_ content: Peer.Packet, _ number: UInt16, _ peer: Peer) throws(BrokenInvariant) {
        if let before = peer.sent[number &- 1], before.epoch == content.epoch {
            try check(before.sequence < content.sequence, "\(number) is out of order")
        }
        if let after = peer.sent[number &+ 1], after.epoch == content.epoch {
            try check(after.sequence > content.sequence, "\(number) is out of order")
        }
    }

    private static let parameters: OutboundStream.Parameters = {
        var extensions = RTPHeaderExtensionMap()
        extensions[1] = .transportSequenceNumber
        extensions[2] = .absoluteSendTime
        extensions[3] = .mid
        return OutboundStream.Parameters(
            ssrc: 1, payloadType: 96, retransmission: .init(ssrc: 2, payloadType: 97),
            mid: RTPStreamIdentifier("0"), extensions: extensions, clockRate: .video)
    }()

    static let corpus: [[UInt8]] = [
        // Layers are lowered and raised again.
        [0, 0x10, 6, 0, 1, 0, 0x11, 14, 0x07, 0, 0x50, 0, 0x91, 0, 0x30, 4, 0, 0xB1, 4, 14, 0x77, 0, 0x48, 0, 0xA9, 4]
            + [0x45, 1, 0x45, 2, 4],
        [0, 0, 0, 32, 6, 0, 1, 0, 33, 0, 36, 0, 38, 4, 0x45, 2, 4, 7, 0, 33, 4],
        [0, 0] + Array(repeating: [0, 33], count: 20).joined() + [6, 3, 0, 4, 0xF5, 1, 0xF5, 2, 4, 0, 0, 6, 0, 1, 4],
    ]
}
