import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

/// Fingerprints that authenticate a certificate, and those that cannot (RFC 8122, section 5).
@Suite("Fingerprints in session descriptions")
struct SDPFingerprintTests {
    private static func hash(_ name: String, _ count: Int) -> String {
        name + " " + (0..<count).map { _ in "0F" }.joined(separator: ":")
    }

    @Test(
        "a hash that is unsupported or has the wrong length is rejected before an answer",
        arguments: [
            hash("sha-1", 20), hash("md5", 16), hash("md2", 16), hash("sha-224", 28), hash("sha-999", 32),
            hash("sha-256", 31), hash("sha-256", 33), hash("sha-256", 20), hash("sha-384", 32), hash("sha-512", 63),
            hash("sha-512", 80), "sha-256", "sha-256 xy:zz", "sha-256 0F0F", "sha-256 " + "0F:", "",
        ])
    func unusable(fingerprint: String) {
        let offer = OfferText.make([.audio(), .video()]).replacing(OfferText.fingerprint, with: fingerprint)
        #expect(throws: SDPError.unusableFingerprint(section: 0)) { try Answer.toPublisher(offer) }
    }

    @Test(
        "one usable fingerprint among others is enough, in either case",
        arguments: [hash("sha-256", 32), hash("SHA-256", 32), hash("sha-384", 48), hash("sha-512", 64)])
    func usable(fingerprint: String) throws {
        var section = OfferText.Section.audio()
        section.fingerprints = [Self.hash("sha-1", 20), "sha-256 0F", fingerprint, Self.hash("md5", 16)]
        #expect(try Answer.toPublisher(OfferText.make([section])).problems.isEmpty)
    }

    @Test("a section's fingerprint replaces the session's, whether it is better or worse")
    func levels() throws {
        let (good, bad) = (Self.hash("sha-256", 32), Self.hash("sha-1", 20))
        func answer(session: String?, section: String?) throws -> Answer {
            var audio = OfferText.Section.audio()
            audio.fingerprints = section.map { [$0] } ?? []
            return try Answer.toPublisher(
                OfferText.make([audio], session: session.map { ["a=fingerprint:\($0)"] } ?? []))
        }
        #expect(try answer(session: good, section: nil).problems.isEmpty)
        #expect(try answer(session: bad, section: good).problems.isEmpty)
        for section in [bad, "sha-256 zz", "sha-256 0F:0F"] {
            #expect(throws: SDPError.unusableFingerprint(section: 0)) { try answer(session: good, section: section) }
        }
        #expect(throws: SDPError.unusableFingerprint(section: 0)) { try answer(session: bad, section: nil) }
        #expect(throws: SDPError.missingFingerprint) { try answer(session: nil, section: nil) }
    }

    @Test("of a group, the fingerprints of its first section apply") func bundled() throws {
        var video = OfferText.Section.video()
        video.fingerprints = [Self.hash("sha-1", 20)]
        #expect(try Answer.toPublisher(OfferText.make([.audio(), video])).problems.isEmpty)
        #expect(throws: SDPError.unusableFingerprint(section: 1)) {
            try Answer.toPublisher(OfferText.make([.audio(), video], groups: ["1 0"]))
        }
    }
}

@Suite("RED and RTX of audio")
struct SDPRedundancyTests {
    @Test(
        "a browser's RED is accepted and is first in a publisher's answer, without NACK"
    )
    func browser() throws {
        let offer = SDPSamples.chromiumViewerOffer.replacing(
            "a=rtcp-fb:111 transport-cc", with: "a=rtcp-fb:111 transport-cc\r\na=rtcp-fb:111 nack")
        let answer = try Answer.toViewer(offer, of: .vp8)
        let audio = answer.session.media[1]
        #expect(audio.format.redPayloadType == 63 && audio.payloadType == 111)
        #expect(!audio.feedback.contains(.nack) && audio.localRTXSSRC == nil)
        #expect(answer.lines(ofSection: 1)[0] == "m=audio 9 UDP/TLS/RTP/SAVPF 111 63")
        #expect(answer.lines(ofSection: 1).contains("a=fmtp:63 111/111"))
        let publisher = try Answer.toPublisher(SDPSamples.chromiumPublisherOffer)
        #expect(publisher.lines(ofSection: 1)[0] == "m=audio 9 UDP/TLS/RTP/SAVPF 63 111")
        #expect(publisher.session.media[1].payloadType == 111)
    }

    @Test("two ends of this project agree on both: packets without redundancy are requested")
    func own() throws {
        let offer = Offer(
            sections: [OfferSection(type: .audio, direction: .sendOnly, source: .audio)], originSessionID: 5,
            transport: .client, capabilities: MediaCapabilities())
        let answer = try Answer(
            to: SessionDescription(parsing: offer.description.text), originSessionID: 6, transport: .test,
            capabilities: MediaCapabilities()
        ) { _, _ in .receive }
        let session = try offer.accept(SessionDescription(parsing: answer.description.text))
        for media in [session.media[0], answer.session.media[0]] {
            #expect(media.format.redPayloadType == 63 && media.rtxPayloadType == 112 && media.payloadType == 111)
            #expect(media.feedback.contains(.nack))
        }
    }

    @Test("an answer without RED receives none")
    func refused() throws {
        let offer = Offer(
            sections: [OfferSection(type: .audio, direction: .receiveOnly)], originSessionID: 5, transport: .client,
            capabilities: MediaCapabilities())
        let text = try Answer(
            to: offer.description, originSessionID: 6, transport: .test, capabilities: MediaCapabilities()
        ) { _, _ in .send(.opus, from: .audio) }.description.text
        let without = text.replacing("a=rtpmap:63 red/48000/2\r\n", with: "").replacing(
            "a=fmtp:63 111/111\r\n", with: "")
        #expect(try offer.accept(SessionDescription(parsing: without)).media[0].format.redPayloadType == nil)
    }

    @Test(
        "RED of other codecs, of nothing, or of several is ignored", arguments: ["111/112", "0/0", "111", "x/y", ""])
    func foreign(parameters: String) throws {
        let offer = SDPSamples.chromiumViewerOffer.replacing("a=fmtp:63 111/111", with: "a=fmtp:63 \(parameters)")
        let answer = try Answer.toViewer(offer, of: .vp8)
        #expect(answer.session.media[1].format.redPayloadType == nil)
        #expect(answer.lines(ofSection: 1)[0] == "m=audio 9 UDP/TLS/RTP/SAVPF 111")
    }
}

@Suite("Trickled candidates")
struct SDPTrickleFragmentTests {
    /// A fragment in the form of RFC 9725 section 4.3.1.
    private let text = """
        a=group:BUNDLE 0 1\r
        m=audio 9 UDP/TLS/RTP/SAVPF 111\r
        a=mid:0\r
        a=ice-ufrag:EsAw\r
        a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r
        a=candidate:1387637174 1 udp 2122260223 192.0.2.1 61764 typ host generation 0 ufrag EsAw network-id 1\r
        a=candidate:3471623853 1 udp 2122194687 198.51.100.2 61765 typ host\r
        a=end-of-candidates\r
        m=video 9 UDP/TLS/RTP/SAVPF 96\r
        a=mid:1\r
        a=candidate:1 1 tcp 1518280447 192.0.2.1 9 typ host tcptype active\r

        """

    @Test("a fragment is parsed section by section, and is equal after writing")
    func reads() throws {
        let fragment = try TrickleFragment(parsing: text)
        #expect(fragment.iceUfrag == "EsAw" && fragment.icePwd == "P2uYro0UCOQ4zxjKXaWCBui1")
        #expect(fragment.sections.map(\.mid) == ["0", "1"] && fragment.candidates.count == 3)
        #expect(fragment.sections.map(\.hasEndOfCandidates) == [true, false] && fragment.hasEndOfCandidates)
        #expect(fragment.candidates[2] == "candidate:1 1 tcp 1518280447 192.0.2.1 9 typ host tcptype active")
        #expect(try TrickleFragment(parsing: fragment.text) == fragment)
    }

    @Test("credentials and candidates may precede every section")
    func withoutSections() throws {
        let fragment = try TrickleFragment(parsing: "a=ice-ufrag:u\na=ice-pwd:p\na=candidate:x\na=end-of-candidates")
        #expect(fragment.iceUfrag == "u" && fragment.sections.count == 1 && fragment.sections[0].mid == nil)
        #expect(fragment.text == "a=ice-ufrag:u\r\na=ice-pwd:p\r\na=candidate:x\r\na=end-of-candidates\r\n")
        #expect(try TrickleFragment(parsing: "") == TrickleFragment())
    }

    @Test("size, lines and sections are limited, and lines have a type")
    func refuses() {
        #expect(throws: SDPError.malformedLine(2)) { try TrickleFragment(parsing: "a=x\n{}") }
        #expect(throws: SDPError.tooLarge) {
            try TrickleFragment(parsing: "a=" + String(repeating: "x", count: SDPLimits.textSize))
        }
        #expect(throws: SDPError.tooManyLines) {
            try TrickleFragment(parsing: String(repeating: "a=x\n", count: SDPLimits.lines + 1))
        }
        #expect(throws: SDPError.tooManyMediaSections) {
            try TrickleFragment(
                parsing: String(repeating: "m=x\na=mid:0\n", count: SDPLimits.mediaSections + 1))
        }
    }
}

/// Spaces and tabs of peers where RFC 8866 has none.
@Suite("Whitespace in session descriptions")
struct SDPWhitespaceTests {
    private static let clean = OfferText.make(
        [
            .audio(),
            .video("1", "96", OfferText.h264 + ["a=rtcp-rsize", "a=rid:h send max-width=640", "a=ssrc:7 cname:c"]),
        ],
        session: ["a=extmap-allow-mixed"])

    /// Returns the description with every `a=` line changed around its name and value.
    private static func changed(_ change: (_ name: Substring, _ value: Substring?) -> String) -> String {
        clean.split(separator: "\r\n").map { line in
            guard line.hasPrefix("a="), !line.hasPrefix("a=candidate") else { return String(line) }
            let text = line.dropFirst(2)
            guard let colon = text.firstIndex(of: ":") else { return "a=" + change(text, nil) }
            return "a=" + change(text[..<colon], text[text.index(after: colon)...])
        }.map { $0 + "\r\n" }.joined()
    }

    @Test("trailing spaces or tabs do not change flags and values", arguments: [" ", "   ", "\t", " \t "])
    func trailing(space: String) throws {
        let text = Self.changed { name, value in value.map { "\(name):\($0)\(space)" } ?? "\(name)\(space)" }
        #expect(try SessionDescription(parsing: text) == SessionDescription(parsing: Self.clean))
    }

    @Test("leading spaces or tabs do not change values", arguments: [" ", "  ", "\t"])
    func leading(space: String) throws {
        let text = Self.changed { name, value in value.map { "\(name):\(space)\($0)" } ?? String(name) }
        #expect(try SessionDescription(parsing: text) == SessionDescription(parsing: Self.clean))
    }

    @Test("words of a value may have more space between them", arguments: ["  ", "\t", " \t"])
    func between(space: String) throws {
        let text = Self.changed { name, value in
            value.map { "\(name):\($0.replacing(" ", with: space))" } ?? String(name)
        }
        #expect(try SessionDescription(parsing: text) == SessionDescription(parsing: Self.clean))
    }

    @Test("a fragment is parsed in the same way") func fragment() throws {
        let clean =
            "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\nm=audio 9 RTP/AVP 0\r\na=mid:0\r\n"
            + "a=end-of-candidates\r\n"
        let spaced =
            "a=ice-ufrag: abcd \r\na=ice-pwd:\t0123456789012345678901 \r\nm=audio 9 RTP/AVP 0\r\na=mid: 0\t\r\n"
            + "a=end-of-candidates \r\n"
        let fragment = try TrickleFragment(parsing: spaced)
        #expect(fragment == (try TrickleFragment(parsing: clean)) && fragment.hasEndOfCandidates)
    }

    @Test("RFC 9725, section 4.3.3: a fragment has ice-lite and ice-options like the description")
    func fragmentOptions() throws {
        let fragment = TrickleFragment(
            iceUfrag: "abcd", icePwd: "0123456789012345678901", isICELite: true, iceOptions: ["trickle", "ice2"])
        #expect(fragment.text.hasPrefix("a=ice-lite\r\na=ice-options:trickle ice2\r\n"))
        #expect(try TrickleFragment(parsing: fragment.text) == fragment)
    }
}

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
