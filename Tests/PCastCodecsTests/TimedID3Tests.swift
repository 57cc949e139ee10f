import Testing

@testable import PCastCodecs

@Suite("Tags of timed ID3 are complete, whatever part libavformat returns")
struct TimedID3Tests {
    /// Returns a tag with frames of the given lengths.
    private static func tag(version: UInt8, _ lengths: [Int], padding: Int = 0) -> [UInt8] {
        func size(_ number: Int, bits: Int) -> [UInt8] {
            (0..<4).map { UInt8(number >> (bits * (3 - $0)) & 0xFF & (1 << bits - 1)) }
        }
        var frames: [UInt8] = []
        for length in lengths {
            frames += Array("TXXX".utf8) + size(length, bits: version == 4 ? 7 : 8) + [0, 0]
            frames += Array(repeating: UInt8(ascii: "x"), count: length)
        }
        frames += Array(repeating: 0, count: padding)
        return Array("ID3".utf8) + [version, 0, 0] + size(frames.count, bits: 7) + frames
    }

    private static func tags(in packet: [UInt8]) -> [UInt8] { packet.withUnsafeBytes { TimedID3.tags(in: $0) } }

    @Test("tags of both versions are completed, with and without padding", arguments: [3, 4] as [UInt8])
    func versions(_ version: UInt8) {
        for lengths in [[20], [127], [128], [200, 3], [300, 129, 1_000]] {
            for padding in [0, 17] {
                let tag = Self.tag(version: version, lengths, padding: padding)
                #expect(Self.tags(in: tag) == tag)
                #expect(Self.tags(in: [0, 0, 0xDF, 0, 9] + tag) == tag)
                // Small frames are the same in both.
                let isSmall = lengths.allSatisfy { $0 < 128 }
                var rest = Self.tags(in: Array(tag.dropFirst(5)))
                if isSmall { rest[3] = version }
                #expect(rest == tag, "\(lengths)")
                // Another tag follows.
                let two = Self.tags(in: Array((tag + tag).dropFirst(5)))
                #expect(two.count == 2 * tag.count && Array(two.suffix(tag.count)) == tag)
            }
        }
    }

    @Test(
        "other data is unchanged",
        arguments: [[], [1, 2, 3], [0, 0, 0, 0, 9, 1], [0, 0x80, 0, 0, 0, 0, 0], [0xFF]] as [[UInt8]])
    func others(_ packet: [UInt8]) { #expect(Self.tags(in: packet) == packet) }
}
