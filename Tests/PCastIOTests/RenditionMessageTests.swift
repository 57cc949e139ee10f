import PCastCore
import PCastTestSupport
import Testing

@testable import PCastIO

@Suite("Messages between a platform and its renditions")
struct RenditionMessageTests {
    private static let messages: [RenditionMessage] = [
        .targets(.h264, []),
        .targets(
            .vp8,
            [
                .init(layer: 1, height: 720, bitrate: .kilobits(1_600)),
                .init(layer: 6, height: 144, bitrate: .kilobits(80)),
            ]),
        .frame(
            .init(
                layer: 0, isKeyFrame: true, timestamp: -5, captureTime: WallTime(nanosecondsSinceEpoch: 1 << 60),
                bytes: [1, 2, 3])),
        .frame(
            .init(
                layer: 7, isKeyFrame: false, timestamp: 1 << 40, captureTime: WallTime(nanosecondsSinceEpoch: 7),
                bytes: [UInt8](repeating: 9, count: 100_000))),
        .keyFrames(0b1010_0000), .targets(.vp9, []), .targets(.av1, []), .targets(.h265, []),
        .output(.vp8),
    ]

    private static func read(_ bytes: [UInt8], by size: Int) throws -> [RenditionMessage] {
        var reader = RenditionMessageReader()
        var found: [RenditionMessage] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { reader.append($0) }
            while let message = try reader.next() { found.append(message) }
        }
        return found
    }

    @Test("messages arrive unchanged, however their bytes are divided", arguments: [1, 3, 4_096, 1 << 20])
    func roundTrip(size: Int) throws {
        let bytes = Self.messages.flatMap(\.encoded)
        let found = try Self.read(bytes, by: size)
        #expect(found == Self.messages)
    }

    @Test("sizes beyond the limit, empty messages and unknown kinds are rejected")
    func malformed() {
        for bytes: [UInt8] in [
            [0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 0, 0], [0, 0, 0, 1, 9], [0, 0, 0, 1, 3], [0, 0, 0, 2, 1, 7],
            [0, 0, 0, 4, 1, 0, 1, 1], [0, 0, 0, 3, 2, 0, 0], [0, 0, 0, 2, 4, 7], [0, 0, 0, 1, 4],
        ] {
            #expect(throws: RenditionMessageReader.Malformed.self) { _ = try Self.read(bytes, by: 16) }
        }
    }

    @Test("changed bytes give messages or an error, and never more memory than the bytes")
    func changed() {
        var random = SeededGenerator(seed: 3)
        let original = Self.messages.prefix(3).flatMap(\.encoded) + Self.messages[4].encoded
        for _ in 0..<20_000 {
            var bytes = original
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: bytes.indices, using: &random)
                bytes[index] = UInt8.random(in: 0...255, using: &random)
            }
            let found = (try? Self.read(bytes, by: 7)) ?? []
            #expect(found.count <= bytes.count)
        }
    }
}
