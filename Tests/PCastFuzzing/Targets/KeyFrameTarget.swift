import PCastCore
import PCastRTP

/// Packets of H.264 or H.265 in any order, the key frames that are found in them, and the packets that a viewer receives
/// from a key frame on. The input has operations of two bytes and a chunk.
enum KeyFrameTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(Array(bytes.prefix(8192)))
        let choice = input.byte()
        let codec: Codec = choice & 4 == 0 ? .h264 : .h265
        var log = PacketLog(capacity: choice & 2 == 0 ? 64 : 1024)
        var finder = KeyFrameFinder(parameterSets: [input.chunk(), input.chunk()], aggregates: choice & 1 == 0)
        var (sequence, frame, isFound) = (1_000 as Int64, 0 as UInt32, false)
        var now = Instant(nanoseconds: 0)
        while !input.isAtEnd {
            let (step, time) = (input.byte(), input.byte())
            now += .milliseconds(Int64(time >> 2))
            frame &+= UInt32(time & 3)
            let number = sequence + [1, 1, 1, 1, 2, -1, -2, 3][Int(step & 7)]
            let payload = input.chunk()
            guard log.accepts(sequence: number), payload.count <= 256 else { continue }
            sequence = max(sequence, number)
            var entry = PacketLog.Entry(
                sequence: number, timestamp: frame &* 3000, marker: step & 8 != 0, startsKeyFrame: false, arrival: now)
            let isLeading = payload.withByteView { KeyFrameDetector.isSkippedLeading($0) }
            if isLeading, codec == .h265, let position = log.newestKeyFrame {
                entry.leadingDistance = UInt16(clamping: number - log[position].sequence)
            }
            _ = payload.withByteView { log.append(entry, payload: $0) }
            guard let keyFrame = finder.appended(codec, to: &log) else { continue }
            isFound = true
            try check(log.newestKeyFrame == keyFrame.position, "a key frame that is not the newest")
            try check((log.start..<log.end).contains(keyFrame.position), "a key frame outside of the log")
            try view(log, keyFrame.position, at: now)
        }
        return isFound
    }

    /// Checks that packets sent before a key frame's first packet have its timestamp and continuous sequence numbers.
    private static func view(_ log: borrowing PacketLog, _ keyFrame: Int64, at now: Instant) throws(BrokenInvariant) {
        var stream = OutboundStream(
            OutboundStream.Parameters(
                ssrc: 1, payloadType: 96, retransmission: nil, mid: nil, extensions: RTPHeaderExtensionMap(),
                clockRate: .video), firstSequenceNumber: 100, retransmissionSequenceNumber: 0)
        stream.begin(at: keyFrame, in: log)
        let first = log[keyFrame]
        let memory = ByteStorage(byteCount: 256)
        let room = memory.bytes
        var (counter, expected) = (0 as UInt16, 100 as UInt16)
        while let packet = stream.next(
            in: log, at: now, sendTime: AbsoluteSendTime(now), transportSequenceNumber: &counter, into: room)
        {
            let bytes = Array(room)
            guard let header = RTPHeader.parse(bytes.span) else {
                throw BrokenInvariant(description: "a header that does not read back")
            }
            let entry = log[packet.position]
            guard entry.sequence < 0 else {
                try check(entry.sequence >= first.sequence, "a packet from before the key frame")
                let distance = UInt16(truncatingIfNeeded: entry.sequence - first.sequence)
                try check(header.sequenceNumber == expected &+ distance, "a number of another packet")
                continue
            }
            try check(header.sequenceNumber == expected, "parameter sets that are not before the key frame")
            try check(header.timestamp == first.timestamp && !header.marker, "parameter sets of another time")
            expected += 1
        }
    }

    private static let sets = [
        hexadecimal("6742c01fd9005005bb0110000003001000000303c0f1832480"), hexadecimal("68cb83cb20"),
    ]

    private static let h265Sets = hexadecimal(
        "6001 0018 40010c01ffff01600000030090000003000003003c928090 0029 42010101600000030090000003000003003ca01a2079"
            + "6592a4932bc05a020000030002000003003210 0007 4401c172b46240")

    private static func packet(_ step: UInt8, _ time: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [step, time] + FuzzInput.chunks([payload])
    }

    static let corpus: [[UInt8]] = [
        // Parameter sets of the description, then an IDR picture without any, and one in fragments.
        [0] + FuzzInput.chunks(sets) + packet(0, 0, [0x41, 0x9A]) + packet(8, 1, hexadecimal("658884010203"))
            + packet(0, 1, hexadecimal("7c85888401")) + packet(8, 0, hexadecimal("7c4502")),
        // Parameter sets in separate packets, in fragments, and in the wrong order.
        [3] + FuzzInput.chunks([[], []]) + packet(0, 0, [0x41, 0x9A]) + packet(0, 1, sets[1]) + packet(0, 0, sets[0])
            + packet(8, 0, hexadecimal("658884")) + packet(0, 1, [0x7C, 0x87] + sets[0][1..<9])
            + packet(0, 0, [0x7C, 0x47] + sets[0][9...]) + packet(8, 1, hexadecimal("658884")),
        // H.265: parameter sets in an aggregate, a clean random access frame, and one that leads to it.
        [4] + FuzzInput.chunks([[], []]) + packet(0, 0, hexadecimal("0201d005")) + packet(0, 1, h265Sets)
            + packet(8, 0, hexadecimal("2a01af05")) + packet(8, 1, hexadecimal("1201d005"))
            + packet(0, 1, hexadecimal("62 01 95 af 05")) + packet(8, 0, hexadecimal("62 01 55 05")),
    ]
}
