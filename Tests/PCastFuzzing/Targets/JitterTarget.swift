import PCastCore
import PCastRTP

/// A jitter buffer under any order of packets and any passage of time.
enum JitterTarget {
    /// The packets that the buffer received, as needed by the invariants.
    private struct History {
        /// The sequence numbers of padding, and of packets without a frame.
        var fillers: Set<UInt16> = []
        var last: ClosedRange<Int64>?
        var delivered = 0
        var inserted = 0
        var sequence: UInt16 = 65_500
        var timestamp: UInt32 = 0xFFFF_F000
        var now = Instant(nanoseconds: 1_000_000_000)
    }

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        let codec = Codec.allCases[Int(input.byte()) % Codec.allCases.count]
        var buffer = JitterBuffer(codec: codec, capacity: 64, maximumPayloadSize: 256)
        var history = History()
        while !input.isAtEnd {
            insert(&buffer, &history, &input)
            try drain(&buffer, &history)
        }
        history.now += .seconds(1 as Int64)
        try drain(&buffer, &history)
        return history.delivered > 0
    }

    /// Performs an operation of five bytes: the packet, its relative sequence number and timestamp, and the time that
    /// passes.
    private static func insert(_ buffer: inout JitterBuffer, _ history: inout History, _ input: inout FuzzInput) {
        let kind = input.byte()
        let step = Int8(bitPattern: input.byte())
        // Most steps are small, and one in sixteen is arbitrary.
        history.sequence &+=
            kind >> 4 == 15 ? UInt16(truncatingIfNeeded: Int(step) * 509) : UInt16(truncatingIfNeeded: Int(step))
        let ticks = Int(Int8(bitPattern: input.byte()))
        history.timestamp &+= UInt32(truncatingIfNeeded: ticks * (kind >> 4 == 15 ? 3_000_001 : 960))
        history.now += .milliseconds(Int64(input.byte() >> 1))
        let payload = payload(buffer.codec, input.byte())
        let insertion = payload.withByteView {
            buffer.insert(
                payload: $0, sequenceNumber: history.sequence, timestamp: history.timestamp, marker: kind & 1 == 1,
                at: history.now)
        }
        history.inserted += 1
        if payload.isEmpty || payload[0] == 0x09 || payload[0] == 0x1F { history.fillers.insert(history.sequence) }
        if case .resynchronized = insertion { history.last = nil }
    }

    private static func drain(_ buffer: inout JitterBuffer, _ history: inout History) throws(BrokenInvariant) {
        while let output = buffer.poll(at: history.now) {
            guard case .frame(let frame) = output else { continue }
            history.delivered += 1
            try check(history.delivered <= history.inserted, "more frames than packets")
            try check(frame.firstArrival <= frame.lastArrival, "arrivals out of order")
            try check(frame.lastArrival <= history.now, "a frame from the future")
            defer { history.last = frame.sequenceNumbers }
            guard let last = history.last else {
                try check(frame.isKeyFrame || buffer.codec == .opus, "a stream that begins with a delta frame")
                continue
            }
            let first = frame.sequenceNumbers.lowerBound
            try check(first > last.upperBound, "\(frame.sequenceNumbers) after \(last)")
            guard buffer.codec != .opus, !frame.isKeyFrame else { continue }
            let isWhole = (last.upperBound + 1..<first).allSatisfy {
                history.fillers.contains(UInt16(truncatingIfNeeded: $0))
            }
            try check(isWhole, "a delta frame \(first) behind a hole after \(last.upperBound)")
        }
        if let deadline = buffer.deadline {
            try check(deadline > history.now, "a deadline that polling does not move")
        }
    }

    private static func payload(_ codec: Codec, _ choice: UInt8) -> [UInt8] {
        switch codec {
        case .opus: choice % 8 == 0 ? [] : [0xFC, choice]
        case .vp8: vp8Payloads[Int(choice) % vp8Payloads.count]
        case .h264: h264Payloads[Int(choice) % h264Payloads.count]
        case .vp9: vp9Payloads[Int(choice) % vp9Payloads.count]
        case .av1: av1Payloads[Int(choice) % av1Payloads.count]
        case .h265: h265Payloads[Int(choice) % h265Payloads.count]
        }
    }

    /// Padding, the start of a key frame, the start of another frame, the middle of either, and an invalid payload.
    private static let vp8Payloads: [[UInt8]] = [
        [], [0x10] + hexadecimal("1000009d012a0005d002aabb"), [0x10, 0x11, 0, 0, 7], [0x00, 1, 2, 3], [0x80],
    ]

    /// Padding, parameter sets with an IDR slice, a slice, start, middle and end of an FU-A, and an invalid payload.
    private static let h264Payloads: [[UInt8]] = [
        [],
        [0x78, 0, 23] + hexadecimal("6742c01fd9005005bb0110000003001000000303c0f183") + [0, 5]
            + hexadecimal("68cb83cb20") + [0, 3, 0x65, 0x88, 0x80],
        [0x41, 0x9A, 1, 2], [0x7C, 0x85, 0x88, 1], [0x7C, 0x05, 2, 3], [0x7C, 0x45, 4, 5], [0x5C, 0x81, 0x9A],
        [0x5C, 0x41, 9], [0x09, 0xF0], [0x1F, 0xFF],
    ]

    /// Padding, a key frame in one payload, the start and the end of one, another frame, and invalid payloads.
    private static let vp9Payloads: [[UInt8]] = [
        [], [0x0C] + hexadecimal("82498342000cf00776aabb"), [0x08] + hexadecimal("82498342000cf00776"),
        [0x04, 1, 2, 3], [0x4C, 0x86, 7], [0xFA], [0x40],
    ]

    /// Padding, a sequence header with a key frame, a frame, the start and the end of a frame, and invalid payloads.
    private static let av1Payloads: [[UInt8]] = [
        [], [0x28, 0x0B, 0x08] + hexadecimal("00000003b67f736be401") + [0x30, 0x10, 1], [0x10, 0x30, 0x30, 5],
        [0x50, 0x30, 0x30, 6], [0x90, 7, 8], [0x00, 0x7F], [0x10],
    ]

    /// Padding, parameter sets with a random access point, a slice, start, middle and end of a fragmented unit, a skipped
    /// leading frame, and invalid payloads.
    private static let h265Payloads: [[UInt8]] = [
        [],
        hexadecimal(
            "6001 0018 40010c01ffff01600000030090000003000003003c928090 0029 42010101600000030090000003000003003ca01a20"
                + "796592a4932bc05a020000030002000003003210 0007 4401c172b46240 0004 2a01af09"),
        [0x02, 1, 0xD0, 3], [0x62, 1, 0x93, 0x80], [0x62, 1, 0x13, 2], [0x62, 1, 0x53, 3], [0x12, 1, 0xD0, 4],
        [0x62, 1, 0xC1], [0x64, 1, 2],
    ]

    /// For each codec, a key frame and other frames, with a lost packet and a reordered one.
    static let corpus: [[UInt8]] = [
        [0] + [1, 1, 40, 20, 1] + [1, 1, 40, 20, 2] + [1, 2, 80, 20, 2] + [1, 255, 216, 20, 2] + [0, 2, 80, 9, 3]
            + [0, 1, 0, 0, 4] + [1, 1, 0, 0, 5] + [1, 3, 40, 255, 1],
        [1] + [0, 1, 40, 20, 1] + [1, 1, 0, 20, 3] + [1, 2, 80, 20, 2] + [1, 255, 216, 20, 2] + [1, 3, 40, 255, 1],
        [2] + [1, 1, 40, 20, 1] + [1, 1, 40, 20, 4] + [0, 2, 80, 20, 2] + [1, 255, 0, 20, 3] + [1, 3, 40, 255, 1],
        [3] + [1, 1, 40, 20, 1] + [1, 1, 40, 20, 2] + [0, 1, 80, 20, 3] + [1, 1, 0, 20, 4] + [1, 3, 40, 255, 1],
        [4] + [1, 1, 40, 20, 1] + [1, 1, 40, 20, 2] + [0, 1, 80, 20, 3] + [0, 1, 0, 20, 4] + [1, 1, 0, 20, 5]
            + [1, 3, 40, 255, 1],
        [5] + [0, 1, 1, 40, 1] + [0, 1, 1, 40, 2] + [0, 2, 2, 40, 3] + [0, 255, 255, 0, 4] + [0, 5, 5, 200, 5],
    ]
}
