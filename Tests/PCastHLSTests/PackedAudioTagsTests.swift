import PCastCore
import Testing

@testable import PCastHLS

@Suite("ID3 tags of packed audio")
struct PackedAudioTagsTests {
    /// A frame of ADTS with a size, at 48 kHz by default (index 3), with `blocks` blocks of 1,024 samples.
    private func frame(size: Int, rate: UInt8 = 3, blocks: UInt8 = 1) -> [UInt8] {
        let head: [UInt8] = [
            0xFF, 0xF1, 0x40 | rate << 2, 0x80 | UInt8(size >> 11), UInt8(size >> 3 & 0xFF),
            UInt8(size & 7) << 5 | 0x1F, 0xFC | (blocks - 1),
        ]
        return head + [UInt8](repeating: 0x49, count: size - 7)
    }

    private func tag(_ text: String) -> [UInt8] {
        let body = [3] + Array("name".utf8) + [0] + Array(text.utf8)
        let content = Array("TXXX".utf8) + [0, 0, 0, UInt8(body.count), 0, 0] + body
        return Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, UInt8(content.count)] + content
    }

    private func texts(_ bytes: [UInt8]) -> [String] {
        PackedAudioTags.all(in: bytes).map { $0.tag.frames[0].text ?? "" }
    }

    @Test("each tag has the duration of the frames before it")
    func offsets() {
        let bytes =
            tag("a") + tag("b") + frame(size: 300) + frame(size: 9, blocks: 2) + tag("c") + frame(size: 2_100)
            + frame(size: 8, rate: 6) + tag("d")
        #expect(texts(bytes) == ["a", "b", "c", "d"])
        let samples = PackedAudioTags.all(in: bytes).map { ($0.offset.seconds * 48_000).rounded() }
        #expect(samples == [0, 0, 3_072, 6_144])
    }

    @Test("reading stops at bytes that are no frame, or are truncated")
    func damaged() {
        let whole = tag("a") + frame(size: 20)
        #expect(texts(whole + [0, 1, 2] + tag("b")) == ["a"])
        #expect(texts(whole + tag("b").dropLast()) == ["a"])
        #expect(texts(frame(size: 20).dropLast() + tag("b")).isEmpty)
        #expect(texts(frame(size: 20, rate: 13) + tag("b")).isEmpty)
        #expect(texts([]).isEmpty)
        #expect(texts([0x49, 0x44]).isEmpty)
    }

    @Test("at most 256 tags are read")
    func limit() {
        #expect(PackedAudioTags.all(in: [UInt8]((0..<300).flatMap { _ in tag("a") })).count == 256)
    }
}
