import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@Suite("Session descriptions")
struct SDPParsingTests {
    static let minimal = "v=0\r\no=- 1 2 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n"

    @Test("every real peer's description is parsed, and is equal after writing", arguments: SDPSamples.all)
    func readsAndWrites(text: String) throws {
        let description = try SessionDescription(parsing: text)
        #expect(description.media.count == 2)
        #expect(description.bundle == description.media.compactMap(\.mid))
        #expect(description.media.allSatisfy { !$0.isRejected && $0.multiplexesRTCP && $0.carriesRTP })
        #expect(description.media.allSatisfy { $0.iceUfrag != nil && $0.icePwd != nil && $0.setup != nil })
        #expect(description.media.allSatisfy { $0.fingerprints.contains { $0.algorithm == "sha-256" } })
        #expect(try SessionDescription(parsing: description.text) == description)
    }

    @Test("lines may end with LF, CR or both", arguments: ["\n", "\r", "\r\n"])
    func lineEnds(end: String) throws {
        let text = SDPSamples.chromiumPublisherOffer
        let ended = text.split(separator: "\n").joined(separator: end) + end
        #expect(try SessionDescription(parsing: ended) == SessionDescription(parsing: text))
    }

    @Test("written lines end with CRLF and have no other CR or LF")
    func writesCRLF() throws {
        let text = try SessionDescription(parsing: SDPSamples.janusStreamingOffer).text
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"))
        #expect(text.utf8.last == UInt8(ascii: "\n"))
        #expect(lines.allSatisfy { $0.last == UInt8(ascii: "\r") && $0.dropLast().allSatisfy { $0 != 13 } })
    }

    @Test("a section is parsed attribute by attribute")
    func readsSection() throws {
        let offer = try SessionDescription(parsing: SDPSamples.chromiumSimulcastOffer)
        #expect(offer.origin.sessionID == 7_092_291_623_841_020_085)
        #expect(offer.allowsMixedExtensions && !offer.isICELite)
        let video = offer.media[0]
        #expect(video.kind == .video && video.port == 51_063 && video.payloadTypes == [96, 97])
        #expect(video.iceUfrag == "lvZb" && video.icePwd == "3pyCnSful+oIgdUPceXUEunq")
        #expect(video.iceOptions == ["trickle"] && video.setup == .actpass && video.direction == .sendOnly)
        #expect(video.fingerprints.count == 1 && video.fingerprints[0].bytes.count == 32)
        #expect(video.fingerprints[0].bytes.prefix(3) == [0x1A, 0xEA, 0xD6])
        #expect(video.extensions.count == 13)
        #expect(video.extensions[8] == ExtensionMapping(id: 9, uri: RTPHeaderExtension.mid.uri))
        #expect(video.feedback.map(\.value) == ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"])
        #expect(video.rids.map(\.id) == ["l", "m", "h"] && video.rids.allSatisfy { $0.direction == .send })
        #expect(video.simulcast == SimulcastDescription(send: ["l", "m", "h"].map { [.init(rid: $0)] }))
        #expect(video.allowsReducedSizeRTCP && video.formatParameters[97]?["APT"] == "96")
        let audio = offer.media[1]
        #expect(audio.rtpMaps[0] == RTPMap(payloadType: 111, encoding: "opus", clockRate: 48_000, channels: 2))
        #expect(audio.formatParameters[63]?.parameters == [.init(name: "111/111", value: nil)])
    }

    @Test("an FFmpeg offer has audio first, no candidates, no ice-options and a name")
    func offerOfFFmpeg() throws {
        let offer = try SessionDescription(parsing: SDPSamples.ffmpegPublisherOffer)
        #expect(offer.name == "FFmpegPublishSession" && offer.origin.username == "FFmpeg")
        #expect(offer.media.map(\.kind) == [.audio, .video])
        #expect(offer.media.allSatisfy { $0.candidates.isEmpty && $0.iceOptions.isEmpty && !$0.hasEndOfCandidates })
        #expect(offer.media.allSatisfy { $0.setup == .passive })
    }

    @Test("session-level credentials apply to sections without their own")
    func sessionLevelCredentials() throws {
        let text =
            Self.minimal
                + """
                a=ice-lite
                a=ice-ufrag:sess
                a=ice-pwd:0123456789012345678901
                a=fingerprint:SHA-256 0a:0B
                a=setup:actpass
                a=recvonly
                m=video 9 UDP/TLS/RTP/SAVPF 127
                m=audio 9 UDP/TLS/RTP/SAVPF 0
                a=ice-ufrag:own+/
                a=ice-pwd:9876543210987654321098
                a=setup:active
                a=sendonly
                """
        let description = try SessionDescription(parsing: text)
        #expect(description.isICELite)
        let (video, audio) = (description.media[0], description.media[1])
        #expect(video.iceUfrag == "sess" && video.icePwd == "0123456789012345678901" && video.setup == .actpass)
        #expect(video.fingerprints == [FingerprintAttribute(algorithm: "sha-256", bytes: [10, 11])])
        #expect(video.direction == .receiveOnly)
        #expect(audio.iceUfrag == "own+/" && audio.icePwd == "9876543210987654321098" && audio.setup == .active)
        #expect(audio.direction == .sendOnly && audio.fingerprints == video.fingerprints)
    }

    @Test("a ufrag of 32 characters with + and / is read")
    func longUfrag() throws {
        let offer = try SessionDescription(parsing: SDPSamples.gstreamerPublisherOffer)
        #expect(offer.media[0].iceUfrag == "JqNRg8UcfRDd3dLozK/94oRs5Sd6LXVC")
        let viewer = try SessionDescription(parsing: SDPSamples.chromiumViewerOffer)
        #expect(viewer.media[0].payloadTypes.contains(35))
    }

    @Test("a payload type above 127 is rejected with its line", arguments: ["128", "255", "256", "99999999999999"])
    func payloadTypeLimit(type: String) {
        #expect(throws: SDPError.payloadTypeOutOfRange(line: 5)) {
            try SessionDescription(parsing: Self.minimal + "m=video 9 UDP/TLS/RTP/SAVPF 96 \(type)\r\n")
        }
        #expect(throws: SDPError.malformedLine(6)) {
            try SessionDescription(
                parsing: Self.minimal + "m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=rtpmap:\(type) VP8/90000\r\n")
        }
    }

    @Test("port 0 with bundle-only is not a rejection, and port 0 alone is")
    func bundleOnlySections() throws {
        let offer = try SessionDescription(parsing: SDPSamples.gstreamerPublisherOffer)
        #expect(offer.media[1].port == 0 && offer.media[1].isBundleOnly && !offer.media[1].isRejected)
        let refused = try SessionDescription(parsing: Self.minimal + "m=audio 0 UDP/TLS/RTP/SAVPF 0\r\n")
        #expect(refused.media[0].isRejected)
    }

    @Test("paused layers, alternatives and repeated RIDs are read")
    func ridsAndAlternatives() throws {
        let text =
            Self.minimal
                + """
                m=video 9 UDP/TLS/RTP/SAVPF 96
                a=rid:q send pt=96;max-width=320
                a=rid:q send
                a=rid:h send
                a=simulcast:send q,h;~f recv z
                """
        let video = try SessionDescription(parsing: text).media[0]
        #expect(video.rids.count == 2 && video.rids[0].restrictions == ["pt": "96", "max-width": "320"])
        let send: [SimulcastDescription.Stream] = [
            [.init(rid: "q"), .init(rid: "h")], [.init(rid: "f", isPaused: true)],
        ]
        #expect(video.simulcast == SimulcastDescription(send: send, receive: [[.init(rid: "z")]]))
        #expect(try SessionDescription(parsing: try SessionDescription(parsing: text).text).media[0] == video)
    }

    @Test("every fingerprint line is read in either case")
    func severalFingerprints() throws {
        let offer = try SessionDescription(parsing: SDPSamples.aiortcPublisherOffer)
        let fingerprints = offer.media[0].fingerprints
        #expect(fingerprints.map(\.algorithm) == ["sha-256", "sha-384", "sha-512"])
        #expect(fingerprints.map(\.bytes.count) == [32, 48, 64])
        let lower = SDPSamples.aiortcPublisherOffer.split(separator: "\n")
            .map { $0.hasPrefix("a=fingerprint") ? $0.lowercased() : String($0) }.joined(separator: "\n")
        #expect(try SessionDescription(parsing: lower) == offer)
    }

    @Test("TCP candidates are kept as written")
    func tcpCandidates() throws {
        let offer = try SessionDescription(parsing: SDPSamples.gstreamerPublisherOffer)
        #expect(offer.media[0].candidates.count == 9)
        #expect(offer.media[0].candidates[1] == "candidate:2 1 TCP 1015021823 127.0.1.1 9 typ host tcptype active")
        #expect(offer.media[0].candidates[2] == "candidate:3 1 TCP 1010827519 127.0.1.1 42587 typ host tcptype passive")
    }

    @Test("unknown lines and invalid attributes are skipped")
    func skipsUnknown() throws {
        let text =
            Self.minimal + "z=0 0\r\nx=?\r\na=\r\na=unknown\r\na=candidate\r\n"
            + "m=video 9 UDP/TLS/RTP/SAVPF 96\r\nb=TIAS:1\r\nb=AS:2000\r\na=ptime:20\r\na=rid:\r\na=extmap:x y\r\n"
            + "a=fingerprint:sha-256 xy:zz\r\na=fmtp:400 a=b\r\na=ssrc:1\r\na=ssrc:99999999999 cname:a\r\n"
        let media = try SessionDescription(parsing: text).media[0]
        #expect(media.bandwidth == 2_000 && media.packetTime == 20)
        #expect(media.rids.isEmpty && media.extensions.isEmpty)
        // It is kept, because the session's fingerprint would replace it otherwise.
        #expect(media.fingerprints == [FingerprintAttribute(algorithm: "sha-256", bytes: [])])
        #expect(media.sources == [SourceAttributes(ssrc: 1)] && media.formatParameters.isEmpty)
    }

    @Test(
        "an invalid description is rejected with its line",
        arguments: [
            ("", SDPError.notASessionDescription), ("\r\n\r\n", .notASessionDescription),
            ("v=1\r\n", .notASessionDescription), ("<html>", .notASessionDescription),
            ("s=-\r\nv=0", .notASessionDescription), ("v=0\r\nhello", .malformedLine(2)),
            ("v=0\r\nm=video", .malformedLine(2)), ("v=0\r\nm=video 70000 RTP/AVP 0", .malformedLine(2)),
            ("v=0\r\nm=video 9 RTP/AVP 0x1", .malformedLine(2)),
            ("v=0\r\nm=video 9 RTP/AVP 0\r\na=mid:a b", .malformedLine(3)),
            ("v=0\r\nm=video 9 RTP/AVP 0\r\na=setup:none", .malformedLine(3)),
            ("v=0\r\nm=video 9 RTP/AVP 0\r\na=rtpmap:96", .malformedLine(3)),
        ])
    func refuses(text: String, error: SDPError) {
        #expect(throws: error) { try SessionDescription(parsing: text) }
    }

    @Test("each error says what is wrong and what to do, and names no identifier of the code")
    func errorDescriptions() {
        let errors: [SDPError] = [
            .tooLarge, .tooManyLines, .tooManyMediaSections, .notASessionDescription, .malformedLine(2),
            .payloadTypeOutOfRange(line: 2), .missingICECredentials, .missingFingerprint,
            .unusableFingerprint(section: 2), .unusableSetup, .answerDoesNotMatchOffer,
        ]
        let texts = errors.map { "\($0)" }
        #expect(Set(texts).count == errors.count)
        for (error, text) in zip(errors, texts) {
            // A problem and a correction, within a sentence of the caller.
            let parts = text.split(separator: "; ")
            #expect(parts.count == 2 && parts.allSatisfy { $0.contains(" ") }, "\(text)")
            #expect(!text.hasSuffix(".") && text.prefix(1) == text.prefix(1).lowercased(), "\(text)")
            // Without a description, the text would be the name of the case.
            #expect(text.firstRange(of: /[a-z][A-Z][a-z]/) == nil, "\(text)")
            switch error {
            case .malformedLine, .payloadTypeOutOfRange: #expect(text.hasPrefix("line 2"))
            case .unusableFingerprint: #expect(text.hasPrefix("media section 2"))
            case .tooLarge: #expect(text.contains("\(SDPLimits.textSize)"))
            case .tooManyLines: #expect(text.contains("\(SDPLimits.lines)"))
            case .tooManyMediaSections: #expect(text.contains("\(SDPLimits.mediaSections)"))
            case .notASessionDescription, .missingICECredentials, .missingFingerprint, .unusableSetup,
                .answerDoesNotMatchOffer:
                break
            }
        }
    }

    @Test("size, lines, sections and sources are limited")
    func bounds() throws {
        let filler = String(repeating: "x", count: SDPLimits.textSize - Self.minimal.utf8.count - 2)
        #expect(try SessionDescription(parsing: Self.minimal + "i=" + filler).media.isEmpty)
        #expect(throws: SDPError.tooLarge) { try SessionDescription(parsing: Self.minimal + "i=x" + filler) }
        let lines = String(repeating: "a=x\n", count: SDPLimits.lines - 4)
        #expect(try SessionDescription(parsing: Self.minimal + lines).media.isEmpty)
        #expect(throws: SDPError.tooManyLines) { try SessionDescription(parsing: Self.minimal + lines + "a=x") }
        let sections = String(repeating: "m=video 9 RTP/AVP 0\n", count: SDPLimits.mediaSections)
        #expect(try SessionDescription(parsing: Self.minimal + sections).media.count == SDPLimits.mediaSections)
        #expect(throws: SDPError.tooManyMediaSections) {
            try SessionDescription(parsing: Self.minimal + sections + "m=audio 9 RTP/AVP 0")
        }
        let sources = (0..<200).map { "a=ssrc:\($0) cname:c\na=ssrc-group:FID \($0) \($0 + 1)\n" }.joined()
        let media = try SessionDescription(parsing: Self.minimal + "m=video 9 RTP/AVP 0\n" + sources).media[0]
        #expect(media.sources.count == SDPLimits.sources && media.sourceGroups.count == SDPLimits.sources)
    }
}
