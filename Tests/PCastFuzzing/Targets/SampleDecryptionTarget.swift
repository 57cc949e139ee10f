import PCastCodecs
import PCastTestSupport

/// Encrypted segments and samples, and the detection of a segment's format. The first byte selects the kind.
enum SampleDecryptionTarget {
    private static let key = (0..<16).map { UInt8($0) }
    private static let vector = (16..<32).map { UInt8($0) }
    private static let decryption = SampleDecryption(key: key, vector: vector)

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let body = Array(bytes.dropFirst())
        switch bytes.first.map({ $0 % 4 }) {
        case 0:
            let plain = decryption.decryptedH264(body)
            try check(plain.count <= body.count, "\(plain.count) bytes of \(body.count)")
            return plain != body
        case 1:
            let plain = decryption.decryptedADTS(body)
            try check(plain.count == body.count, "\(plain.count) bytes of \(body.count)")
            try check(plain.prefix(23) == body.prefix(23), "the beginning of a frame that changed")
            return plain != body
        case 2: return try segment(body)
        case 3: return try container(body)
        default: return false
        }
    }

    /// Decrypts a segment, whole and in pieces.
    private static func segment(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let plain = decrypted(bytes, size: max(bytes.count, 1))
        for size in [1, 16, 37] {
            let divided = decrypted(bytes, size: size)
            try check(divided == plain, "data that depends on the pieces of \(size) bytes")
        }
        guard let plain else { return false }
        try check((1...16).contains(bytes.count - plain.count), "\(plain.count) of \(bytes.count) bytes")
        return true
    }

    private static func decrypted(_ bytes: [UInt8], size: Int) -> [UInt8]? {
        let decryption = SegmentDecryption(key: key, vector: vector)
        var plain: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            plain += decryption.update(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        return decryption.finish().map { plain + $0 }
    }

    private static func container(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let first = SegmentDemuxer.Container(sniffing: bytes)
        guard let (container, offset) = SegmentDemuxer.Container.find(in: bytes) else { return first != nil }
        try check(bytes.indices.contains(offset), "a segment that begins at \(offset)")
        let found = SegmentDemuxer.Container(sniffing: Array(bytes[offset...]))
        try check(found == container, "\(container.rawValue), which is not detected at its beginning")
        return true
    }

    static let corpus: [[UInt8]] = {
        let content = (0..<255).map { UInt8($0 | 1) }
        let slice: [UInt8] = [0, 0, 0, 1, 0x65] + content + [0, 0, 3, 1] + content.prefix(20)
        let frame = TransportStreamBuilder.adts((0..<72).map { UInt8($0) })
        var stream = TransportStreamBuilder()
        stream.program([.h264])
        stream.media(.h264, TransportStreamBuilder.keyFrame(), presentation: 900)
        return [
            [0, 0, 0, 0, 1, 9, 0xF0] + slice + [0] + slice, [1] + frame + frame,
            // The text "a segment of forty-one bytes, in 3 blocks", encrypted.
            [2]
                + hexadecimal(
                    """
                    a367e4501c2a0ef722eaa5638f07eaa54fc35b21e475f12f7f9aeac8b4fa1561b61b3d357573b33ebbcd0ec3015d604a
                    """),
            [3, 1, 2] + frame + frame, [3, 0x47] + stream.bytes,
        ]
    }()
}
