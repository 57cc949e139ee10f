import PCastCore
import PCastWebRTC
import Testing

/// Truncated or damaged descriptions: rejected or parsed within the limits, without a trap.
@Suite("Hostile session descriptions")
struct SDPHostileTests {
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 29)
        }
    }

    /// Parses, answers, writes the answer and parses it again. Returns whether the text was a description.
    private func digest(_ text: String) -> Bool {
        _ = try? TrickleFragment(parsing: text)
        guard let offer = try? SessionDescription(parsing: text) else { return false }
        let answer = try? Answer(
            to: offer, originSessionID: 1, transport: .test, capabilities: MediaCapabilities()
        ) { _, _ in .receive }
        guard let answer else { return true }
        #expect(answer.description.media.count == offer.media.count)
        #expect(answer.description.media.map(\.mid) == offer.media.map(\.mid))
        #expect(throws: Never.self) { try SessionDescription(parsing: answer.description.text) }
        let accepted = answer.session.media.map(\.index)
        for (index, media) in answer.description.media.enumerated() {
            #expect((media.isRejected || media.direction == .inactive) != accepted.contains(index))
        }
        return true
    }

    @Test("truncation never traps", arguments: [SDPSamples.ffmpegPublisherOffer, SDPSamples.chromiumSimulcastOffer])
    func truncated(text: String) {
        let bytes = Array(text.utf8)
        var read = 0
        for length in bytes.indices where digest(String(decoding: bytes[..<length], as: UTF8.self)) { read += 1 }
        #expect(read > bytes.count / 2)
    }

    @Test("no changed, repeated, swapped or lost bytes and lines cause a trap", arguments: SDPSamples.offers)
    func mutated(text: String) {
        var generator = Generator(state: UInt64(text.utf8.count))
        var refused = 0
        for round in 0..<300 {
            var lines = text.split(separator: "\n").map { Array($0.utf8) }
            for _ in 0...Int.random(in: 0..<4, using: &generator) {
                let index = Int.random(in: lines.indices, using: &generator)
                switch round % 4 {
                case 0:
                    let column = Int.random(in: lines[index].indices, using: &generator)
                    lines[index][column] = .random(in: 0...255, using: &generator)
                case 1: lines.swapAt(index, Int.random(in: lines.indices, using: &generator))
                case 2: lines.insert(lines.randomElement(using: &generator)!, at: index)
                default: lines.remove(at: index)
                }
            }
            if !digest(String(decoding: Array(lines.joined(separator: [10])), as: UTF8.self)) { refused += 1 }
        }
        #expect((1..<300).contains(refused))
    }

    @Test("carriage returns within a value add no line to the answer")
    func injection() throws {
        let text = SDPSamples.aiortcPublisherOffer.replacing("a=mid:0", with: "a=mid:0\ra=setup:passive")
        let offer = try SessionDescription(parsing: text)
        #expect(offer.media[0].mid == "0" && offer.media[0].setup == .actpass)
    }

    @Test("a line that is repeated 3,600 times is parsed as one")
    func bounded() throws {
        let head = "v=0\nm=video 9 UDP/TLS/RTP/SAVPF 96\n"
        for line in ["a=ssrc:1 cname:x\n", "a=rtcp-fb:* x\n", "a=extmap:1 u\n", "a=rid:a send\n", "a=rtpmap:96 V/1\n"] {
            let text = head + String(repeating: line, count: 3_600)
            let description = try SessionDescription(parsing: text)
            let media = description.media[0]
            #expect(media.payloadFormats.isEmpty && media.sources.count <= 1 && media.rids.count <= 1)
            #expect(media.extensions.allSatisfy { $0 == ExtensionMapping(id: 1, uri: "u") })
        }
    }
}
