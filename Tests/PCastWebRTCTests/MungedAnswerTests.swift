import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

/// The answer that a client shows to its application as its own description.
struct EditedAnswerTests {
    private let transport = TransportDescription(
        iceUfrag: "abcd", icePwd: "0123456789012345678901",
        fingerprint: FingerprintAttribute(algorithm: "sha-256", bytes: Array(repeating: 7, count: 32)), candidates: [])

    private func offer(_ sections: [OfferSection]) -> Offer {
        Offer(sections: sections, originSessionID: 1, transport: transport, capabilities: MediaCapabilities())
    }

    private func edited(_ answer: String, to offer: Offer) throws -> [String] {
        let session = try offer.accept(SessionDescription(parsing: answer))
        let text = MungedAnswer(answer, keeping: session).text
        #expect(text.hasSuffix("\r\n") && !text.contains("\n\n"))
        return text.split(separator: "\r\n").map(String.init)
    }

    private static let head = [
        "v=0", "o=- 1 2 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0 1", "a=ice-ufrag:efgh",
        "a=ice-pwd:0123456789012345678901", "a=setup:active",
        "a=fingerprint:sha-256 " + Array(repeating: "07", count: 32).joined(separator: ":"),
    ]

    @Test("a publisher's answer keeps the negotiated format, with its repair and every unknown line")
    func oneFormat() throws {
        let offer = offer([
            OfferSection(type: .audio, direction: .receiveOnly), OfferSection(type: .video, direction: .receiveOnly),
        ])
        let answer =
            Self.head + [
                "m=audio 9 UDP/TLS/RTP/SAVPF 63 111", "a=mid:0", "a=sendonly", "a=rtcp-mux", "a=rtpmap:63 red/48000/2",
                "a=fmtp:63 111/111", "a=rtpmap:111 opus/48000/2", "a=fmtp:111 minptime=10;useinbandfec=1",
                "m=video 9 UDP/TLS/RTP/SAVPF 102 103 96 97", "a=mid:1", "a=sendonly", "a=rtcp-mux",
                "a=x-made-up:96 yes",
                "a=rtpmap:102 H264/90000",
                "a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
                "a=rtcp-fb:102 nack pli", "a=rtpmap:103 rtx/90000", "a=fmtp:103 apt=102", "a=rtpmap:96 VP8/90000",
                "a=rtcp-fb:96 nack pli", "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96", "a=ssrc:5 cname:c",
            ]
        let lines = try edited(answer.map { $0 + "\r\n" }.joined(), to: offer)
        let gone = ["a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 nack pli", "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96"]
        var expected = answer.filter { !gone.contains($0) }
        expected[expected.firstIndex(of: "m=video 9 UDP/TLS/RTP/SAVPF 102 103 96 97")!] =
            "m=video 9 UDP/TLS/RTP/SAVPF 102 103"
        #expect(lines == expected)
    }

    @Test("a viewer's answer keeps a format of each codec that may follow")
    func formats() throws {
        let msid = MediaStreamIdentification(stream: "s", track: "t")
        let source = OutgoingSource(ssrc: 1, rtxSSRC: 2, cname: "c", msid: msid)
        var section = OfferSection(type: .video, direction: .sendOnly, format: .vp8, source: source)
        section.furtherFormats = [.h264(H264Format(profile: .constrainedBaseline, level: .level31))]
        let offer = offer([section])
        #expect(offer.description.media[0].payloadFormats.map(\.codec) == [.vp8, .h264])
        let answer =
            Self.head + [
                "m=video 9 UDP/TLS/RTP/SAVPF 96 97 102 103", "a=mid:0", "a=recvonly", "a=rtcp-mux",
                "a=rtpmap:96 VP8/90000", "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96", "a=rtpmap:102 H264/90000",
                "a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
                "a=rtpmap:103 rtx/90000", "a=fmtp:103 apt=102",
            ]
        #expect(try edited(answer.map { $0 + "\r\n" }.joined(), to: offer) == answer)
    }

    @Test("a viewer's answer requests both audio channels", arguments: ["", ";stereo=0"])
    func stereo(said: String) throws {
        let msid = MediaStreamIdentification(stream: "s", track: "t")
        let source = OutgoingSource(ssrc: 1, rtxSSRC: 2, cname: "c", msid: msid)
        let offer = offer([OfferSection(type: .audio, direction: .sendOnly, format: .opus, source: source)])
        let answer =
            Self.head + [
                "m=audio 9 UDP/TLS/RTP/SAVPF 111", "a=mid:0", "a=recvonly", "a=rtcp-mux", "a=rtpmap:111 opus/48000/2",
                "a=fmtp:111 minptime=10\(said)",
            ]
        let lines = try edited(answer.map { $0 + "\r\n" }.joined(), to: offer)
        // A client that asks for one channel receives one channel.
        #expect(lines.last == (said.isEmpty ? "a=fmtp:111 minptime=10;stereo=1" : answer.last))
        #expect(lines.dropLast() == answer.dropLast())
    }

    @Test("an offer of a stream has its one format, H.264 with the stream's own profile first") func carried() throws {
        let format = H264Format(profile: .high, level: .level31)
        let msid = MediaStreamIdentification(stream: "s", track: "t")
        let source = OutgoingSource(ssrc: 1, rtxSSRC: 2, cname: "c", msid: msid)
        let offer = offer([OfferSection(type: .video, direction: .sendOnly, format: .h264(format), source: source)])
        let formats = offer.description.media[0].payloadFormats
        #expect(formats.first?.h264 == format && formats.allSatisfy { $0.codec == .h264 })
    }

    @Test("audio is offered with its redundancy first on request") func redundancyFirst() {
        var section = OfferSection(type: .audio, direction: .receiveOnly)
        #expect(offer([section]).description.media[0].payloadTypes == [111, 63, 112])
        section.prefersRedundancy = true
        #expect(offer([section]).description.media[0].payloadTypes == [63, 111, 112])
    }
}
