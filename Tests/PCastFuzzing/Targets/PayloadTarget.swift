import PCastCore
import PCastRTP

/// Assembles RTP payloads to a frame, packetizes the frame, and assembles it again. The input consists of chunks, of
/// which an empty one ends a frame.
enum PayloadTarget {
    static func run(_ codec: Codec, _ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        var depacketizer = PayloadDepacketizer(codec: codec)
        var frame: [UInt8] = []
        var taken = 0
        var parameterSets = 0
        var isRead = false
        while !input.isAtEnd {
            let payload = input.chunk()
            if !payload.isEmpty {
                try inspect(codec, payload)
                depacketizer.append(payload.span, to: &frame)
                taken += payload.count
                try check(frame.count <= 5 * taken, "\(frame.count) bytes of \(taken)")
            }
            guard payload.isEmpty || input.isAtEnd else { continue }
            if let whole = depacketizer.finish(&frame) {
                isRead = true
                parameterSets = max(parameterSets, 5 * taken)
                try check(frame.count <= 5 * taken + parameterSets * 2 + 4096, "\(frame.count) bytes of \(taken)")
                try check(whole.hasSlice || !whole.isKeyFrame, "a key frame without a slice")
                try again(codec, frame)
            }
            frame.removeAll()
            taken = 0
        }
        return isRead
    }

    private static func inspect(_ codec: Codec, _ payload: [UInt8]) throws(BrokenInvariant) {
        let finding = KeyFrameDetector.inspect(codec: codec, payload: payload.span)
        let starts = KeyFrameDetector.startsKeyFrame(codec: codec, payload: payload.span)
        try check(!starts || finding.isKeyFrame, "a beginning without a key frame")
        if let dimensions = KeyFrameDetector.dimensions(codec: codec, payload: payload.span) {
            try check(codec == .vp8 || finding != .none, "dimensions of what has nothing to do with a key frame")
            try check(
                (0...16_384).contains(dimensions.width) && (0...16_384).contains(dimensions.height),
                "a frame of \(dimensions)")
        }
        guard codec == .vp8, let descriptor = VP8PayloadDescriptor.parse(payload.span) else { return }
        try check(descriptor.size <= payload.count, "a descriptor longer than its payload")
    }

    private static func again(_ codec: Codec, _ frame: [UInt8]) throws(BrokenInvariant) {
        let maximum = codec == .opus ? frame.count : 64
        let payloads = packetize(codec, frame, maximum)
        try check(payloads.count <= frame.count + 1, "\(payloads.count) payloads of \(frame.count) bytes")
        try check(payloads.allSatisfy { $0.bytes.count <= maximum }, "a payload too large")
        try check(payloads.dropLast().allSatisfy { !$0.isLast }, "a last payload that is not the last")
        guard let last = payloads.last else { return }
        try check(last.isLast, "a frame that does not end")
        var depacketizer = PayloadDepacketizer(codec: codec)
        var result: [UInt8] = []
        for payload in payloads { depacketizer.append(payload.bytes.span, to: &result) }
        let whole = depacketizer.finish(&result)
        try check(whole != nil && depacketizer.malformedUnits == 0, "our own payloads are no frame")
        // For H.264, units that a stream does not need are dropped, and start codes have one length.
        if codec != .h264 { try check(result == frame, "a frame that changed") }
    }

    private static func packetize(
        _ codec: Codec, _ frame: [UInt8], _ maximum: Int
    ) -> [(bytes: [UInt8], isLast: Bool)] {
        let memory = ByteStorage(byteCount: max(maximum, 2048))
        let buffer = memory.bytes
        return frame.withByteView { bytes in
            var packetizer = PayloadPacketizer(codec: codec, bytes: bytes, maximumPayloadSize: maximum, pictureID: 9)
            var payloads: [(bytes: [UInt8], isLast: Bool)] = []
            while payloads.count <= frame.count + 1, let payload = packetizer.next(into: buffer) {
                payloads.append((Array(buffer[..<payload.length]), payload.isLast))
            }
            return payloads
        }
    }

    /// 1280x720 as x264 writes it: parameter sets, an IDR picture, and one that refers to it.
    static let accessUnits: [[UInt8]] = [
        hexadecimal("00000001 6742c01fd9005005bb0110000003001000000303c0f1832480 00000001 68cb83cb20 00000001 6588")
            + Array(1...150),
        hexadecimal("00000001 419a") + Array(1...80),
    ]

    static let h264Corpus: [[UInt8]] = [
        FuzzInput.chunks(accessUnits.flatMap { packetize(.h264, $0, 64).map(\.bytes) + [[]] }),
        FuzzInput.chunks(accessUnits.flatMap { packetize(.h264, $0, 1100).map(\.bytes) + [[]] }),
    ]

    static let vp8Frames: [[UInt8]] = [
        hexadecimal("1000009d012a0005d002") + Array(1...140), [0x11, 0, 0] + Array(1...70),
    ]

    static let vp8Corpus: [[UInt8]] = [
        FuzzInput.chunks(vp8Frames.flatMap { packetize(.vp8, $0, 64).map(\.bytes) + [[]] }),
        // A payload descriptor with all fields: picture ID, TL0PICIDX, TID and KEYIDX.
        FuzzInput.chunks([hexadecimal("90f0 8123 07 25 1000009d012a0005d00201020304"), []]),
    ]

    static let opusCorpus: [[UInt8]] = [
        FuzzInput.chunks([hexadecimal("fc0102030405"), [], hexadecimal("03830a0102030405"), [], [0x08], []])
    ]
}
