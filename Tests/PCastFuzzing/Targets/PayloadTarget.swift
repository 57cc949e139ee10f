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
        if let video = KeyFrameDetector.video(codec: codec, payload: payload.span) {
            let dimensions = video.dimensions
            try check(video.codec == codec && (8...16).contains(video.bitDepth), "\(video.bitDepth) bits")
            try check(video.codecString.utf8.count <= 64, "a codec string of \(video.codecString)")
            try check(!video.profile.isEmpty && video.level != "" && video.tier != "", "an empty text")
            try check(codec == .vp8 || finding != .none, "dimensions of what has nothing to do with a key frame")
            try check(
                (0...16_384).contains(dimensions.width) && (0...16_384).contains(dimensions.height),
                "a frame of \(dimensions)")
        }
        if codec == .vp8, let descriptor = VP8PayloadDescriptor.parse(payload.span) {
            try check(descriptor.size <= payload.count, "a descriptor longer than its payload")
        }
        if codec == .vp9, let descriptor = VP9PayloadDescriptor.parse(payload.span) {
            try check(descriptor.size <= payload.count, "a descriptor longer than its payload")
        }
        guard codec == .vp9, let numbers = VPXPictureNumbers(codec, payload.span) else { return }
        // After another payload, nothing but the numbers changes.
        let former: [UInt8] = [0xA8, 0xFF, 0xFF, 0, 0xFF, 0]
        guard let last = VPXPictureNumbers(codec, former.span) else { return }
        let offset = VPXPictureOffset(continuing: last, with: numbers, codec: codec)
        let memory = ByteStorage(byteCount: payload.count)
        let buffer = memory.bytes
        payload.withByteView { offset.copy($0, into: buffer) }
        let copy = Array(buffer[..<payload.count])
        try check(zip(copy, payload).count { $0.0 != $0.1 } <= 3, "a payload with more changes than its numbers")
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
        // For H.264 and H.265, units that a stream does not need are dropped, and start codes have one length.
        if codec != .h264, codec != .h265 { try check(result == frame, "a frame that changed") }
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

    /// The frames of libvpx, libaom and x265 for 208x120 pixels.
    static let vp9Frames: [[UInt8]] = [
        hexadecimal("82498342000cf007761238241c18c600") + Array(1...140),
        hexadecimal("860040929cd058c0") + Array(1...70),
    ]

    static let vp9Corpus: [[UInt8]] = [
        FuzzInput.chunks(vp9Frames.flatMap { packetize(.vp9, $0, 64).map(\.bytes) + [[]] }),
        // Two spatial layers with a scalability structure, and a frame in flexible mode.
        FuzzInput.chunks([
            hexadecimal("ae 8123 00 07 38 00d00078 01a000f0 01 04 01") + vp9Frames[0],
            hexadecimal("ac 8123 03 07 8600409201"), [], hexadecimal("fc 8124 30 03 04 860040"), [],
        ]),
    ]

    static let av1Units: [[UInt8]] = [
        hexadecimal("12000a0a00000003b67f736be401322010") + Array(1...31),
        hexadecimal("120036282030") + Array(1...31),
    ]

    static let av1Corpus: [[UInt8]] = [
        FuzzInput.chunks(av1Units.flatMap { packetize(.av1, $0, 24).map(\.bytes) + [[]] }),
        // Elements with a count and with sizes of their own.
        FuzzInput.chunks([hexadecimal("38 02 1200 0c 0a0a00000003b67f736be401 30100707"), []]),
    ]

    static let h265Units: [[UInt8]] = [
        hexadecimal(
            "00000001 40010c01ffff01600000030090000003000003003c928090 00000001 42010101600000030090000003000003003ca01a20"
                + "796592a4932bc05a020000030002000003003210 00000001 4401c172b46240 00000001 2a01af")
            + Array(1...150),
        hexadecimal("00000001 1201d0") + Array(1...80),
    ]

    static let h265Corpus: [[UInt8]] = [
        FuzzInput.chunks(h265Units.flatMap { packetize(.h265, $0, 64).map(\.bytes) + [[]] }),
        FuzzInput.chunks(h265Units.flatMap { packetize(.h265, $0, 1100).map(\.bytes) + [[]] }),
    ]

    static let opusCorpus: [[UInt8]] = [
        FuzzInput.chunks([hexadecimal("fc0102030405"), [], hexadecimal("03830a0102030405"), [], [0x08], []])
    ]
}
