import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

/// The accepted sections of an offer, and the result of the others.
@Suite("Sections of answers")
struct SDPSectionTests {
    private typealias Section = OfferText.Section

    private func codes(_ text: String) throws -> [String] {
        try Answer.toPublisher(text).problems.map { "\($0.index) \($0.reason.code)" }
    }

    // MARK: Codecs

    @Test(
        "Opus is recognized with any number of channels, and is answered as it was written",
        arguments: [
            ("opus/48000", "opus/48000"), ("opus/48000/1", "opus/48000"), ("OPUS/48000/2", "opus/48000/2"),
        ])
    func opusChannels(offered: String, answered: String) throws {
        let text = OfferText.make([.audio("0", "111", ["a=rtpmap:111 \(offered)"])])
        let answer = try Answer.toPublisher(text)
        #expect(answer.session.media.map(\.codec) == [.opus] && answer.problems.isEmpty)
        #expect(answer.lines.contains("a=rtpmap:111 \(answered)"))
        let viewer = try Answer.toViewer(text.replacing("sendonly", with: "recvonly"), of: .vp8)
        #expect(viewer.session.media.map(\.codec) == [.opus])
    }

    @Test("other rates and channels are not Opus", arguments: ["opus/8000/2", "opus/48000/6", "opus/44100"])
    func foreignOpus(encoding: String) throws {
        let text = OfferText.make([.audio("0", "111", ["a=rtpmap:111 \(encoding)"])])
        #expect(try codes(text) == ["0 codec"])
    }

    @Test(
        "unsupported codecs and profiles of H.264 are named",
        arguments: [
            (["a=rtpmap:98 H265/90000"], "codec", "H265"), (["a=rtpmap:98 AV1/90000"], "codec", "AV1"),
            (["a=rtpmap:98 VP9/90000", "a=fmtp:98 profile-id=0"], "codec", "VP9"),
            (
                ["a=rtpmap:98 H264/90000", "a=fmtp:98 packetization-mode=1;profile-level-id=6e0028"], "profile",
                "6e0028"
            ),
            (
                ["a=rtpmap:98 H264/90000", "a=fmtp:98 packetization-mode=1;profile-level-id=7a0028"], "profile",
                "7a0028"
            ),
            (
                ["a=rtpmap:98 H264/90000", "a=fmtp:98 packetization-mode=1;profile-level-id=f4001f"], "profile",
                "f4001f"
            ),
            (
                ["a=rtpmap:98 H264/90000", "a=fmtp:98 packetization-mode=2;profile-level-id=42e01f"], "profile",
                "packetization-mode=2"
            ), ([], "codec", "no codec"),
        ])
    func codecs(lines: [String], code: String, name: String) throws {
        let answer = try Answer.toPublisher(OfferText.make([.audio(), .video("v", "98", lines)]))
        #expect(answer.session.media.map(\.type) == [.audio])
        let problem = try #require(answer.problems.first)
        #expect(answer.problems.count == 1 && problem.index == 1 && problem.mid == "v" && problem.kind == "video")
        #expect(problem.reason.code == code)
        #expect(problem.description.contains(name) && problem.description.contains("m= section 1 (video, mid v)"))
    }

    @Test("payload types of RFC 3551 are named without an rtpmap; repair and tones are no codecs")
    func staticTypes() throws {
        let lines = ["a=rtpmap:101 telephone-event/8000", "a=rtpmap:13 CN/8000"]
        let answer = try Answer.toPublisher(OfferText.make([.audio("0", "0 8 13 101", lines)]))
        #expect(answer.problems.map(\.reason) == [.codec(offered: ["PCMU", "PCMA"], usable: ["opus"])])
    }

    // MARK: Transport

    @Test("sections that cannot share the one transport are named with the reason")
    func transport() throws {
        #expect(try codes(OfferText.make([.audio(), .video()], groups: [])) == ["1 no-bundle"])
        #expect(try codes(OfferText.make([.audio(), .video()], groups: [""])) == ["1 no-bundle"])
        #expect(try codes(OfferText.make([.audio(), .video()], groups: ["0"])) == ["1 not-bundled"])
        #expect(try codes(OfferText.make([.audio(), .video()], groups: ["0", "1"])) == ["1 not-bundled"])
        #expect(try codes(OfferText.make([.audio(nil), .video()], groups: ["1"])) == ["0 not-bundled"])
        #expect(try codes(OfferText.make([.audio(), .video("0")])) == ["0 duplicate-mid", "1 duplicate-mid"])
        var split = Section.video()
        split.isMultiplexed = false
        #expect(try codes(OfferText.make([.audio(), split])) == ["1 no-rtcp-mux"])
        let strange = Section.video(transport: "UDP/QUIC/RTP/SAVPF")
        #expect(try codes(OfferText.make([.audio(), strange])) == ["1 transport-protocol"])
        #expect(try codes(OfferText.make([.audio(), .dataChannel()])) == ["1 kind"])
        #expect(try codes(OfferText.make([.video("0"), .video("1"), .audio("2")])) == ["1 further-section"])
        #expect(try codes(OfferText.make([.audio(), .video()])) == [])
    }

    @Test("one section needs no BUNDLE group", arguments: [[], ["a"]])
    func single(groups: [String]) throws {
        let answer = try Answer.toPublisher(OfferText.make([.audio("a")], groups: groups))
        #expect(answer.problems.isEmpty && answer.session.media.count == 1)
        #expect(answer.description.bundle == (groups.isEmpty ? nil : ["a"]))
    }

    @Test(
        "every profile of RFC 9429 is accepted and repeated",
        arguments: ["RTP/AVP", "RTP/SAVPF", "UDP/TLS/RTP/SAVP", "TCP/DTLS/RTP/SAVPF"])
    func profiles(transport: String) throws {
        let answer = try Answer.toPublisher(OfferText.make([.audio(transport: transport)]))
        #expect(answer.problems.isEmpty && answer.lines(ofSection: 0)[0].hasPrefix("m=audio 9 \(transport) "))
    }

    @Test("a rejected or inactive section of the offer is no problem and replaces no other")
    func withoutFlow() throws {
        var rejected = Section.video("1", "98", ["a=rtpmap:98 AV1/90000"])
        rejected.first = rejected.first.replacing("video 9", with: "video 0")
        let none = try Answer.toPublisher(OfferText.make([.audio(), rejected, .video("2")]))
        #expect(none.problems.isEmpty && none.session.media.map(\.index) == [0, 2])
        #expect(none.description.media[1].isRejected && none.description.bundle == ["0", "2"])
        let idle = Section.video("1", direction: "inactive")
        let wrong = Section.video("2", "98", ["a=rtpmap:98 AV1/90000"], direction: "recvonly")
        let answer = try Answer.toPublisher(OfferText.make([.audio(), idle, wrong, .video("3")]))
        #expect(answer.problems.isEmpty && answer.session.media.map(\.index) == [0, 3])
        #expect(answer.description.media.map(\.direction) == [.receiveOnly, .inactive, .inactive, .receiveOnly])
    }

    @Test("RFC 9143, section 7.1.3: a bundle-only section leaves rtcp-mux and the transport to the first one")
    func bundleOnly() throws {
        let text = OfferText.make([.audio(), .video()]).split(separator: "m=video")
        let video = text[1].replacing("9 UDP", with: "0 UDP").split(separator: "\r\n").filter { line in
            !["a=ice", "a=fing", "a=setup", "a=rtcp-mux"].contains { line.hasPrefix($0) }
        }
        let offer = "\(text[0])m=video\(video.joined(separator: "\r\n"))\r\na=bundle-only\r\n"
        let answer = try Answer.toPublisher(offer)
        #expect(answer.problems.isEmpty && answer.session.media.count == 2)
        #expect(answer.session.remoteTransport.iceUfrag == "0frag")
    }

    // MARK: The section that BUNDLE names first

    @Test("RFC 9143, section 7.3.3: the first section of the group stays in it, inactive, in one of its formats")
    func tagged() throws {
        let pcmu = Section.audio("0", "0 8", [], direction: "recvonly")
        let channel = Section.dataChannel("0")
        let av1 = Section.video(
            "0", "98 99", ["a=rtpmap:98 AV1/90000", "a=rtpmap:99 VP9/90000"], direction: "recvonly")
        for (first, line) in [
            (pcmu, "m=audio 9 UDP/TLS/RTP/SAVPF 0"), (channel, "m=application 9 UDP/DTLS/SCTP webrtc-datachannel"),
            (av1, "m=video 9 UDP/TLS/RTP/SAVPF 98"),
        ] {
            let offer = OfferText.make([first, .video("1", direction: "recvonly")])
            let answer = try Answer.toViewer(offer, of: .h264(.stream))
            #expect(answer.session.media.map(\.index) == [1])
            #expect(answer.description.bundle == ["0", "1"])
            #expect(answer.lines(ofSection: 0)[0] == line)
            let kept = answer.description.media[0]
            #expect(kept.port == 9 && kept.iceUfrag == "srvU" && kept.fingerprints.count == 1 && kept.setup == .passive)
            #expect(!kept.carriesRTP || answer.lines(ofSection: 0).contains("a=inactive"))
            #expect(kept.carriesRTP || answer.lines(ofSection: 0).contains("a=sctp-port:5000"))
            #expect(!kept.carriesRTP || kept.multiplexesRTCP)
            // The peer parses it as an accepted section.
            #expect(try SessionDescription(parsing: answer.description.text).media[0].isRejected == false)
        }
    }

    @Test("a data channel after the first section is rejected, and media that the other side lacks are inactive")
    func untagged() throws {
        let sections: [Section] = [
            .video("v", direction: "recvonly"), .audio("a", direction: "recvonly"), .dataChannel("d"),
        ]
        let answer = try Answer(
            to: SessionDescription(parsing: OfferText.make(sections)), originSessionID: 1, transport: .test,
            capabilities: MediaCapabilities()
        ) { type, _ in type == .video ? .send(.h264(.stream), from: .video) : nil }
        #expect(answer.description.media.map(\.port) == [9, 9, 0])
        #expect(answer.description.media.map(\.direction) == [.sendOnly, .inactive, .inactive])
        #expect(answer.description.bundle == ["v", "a"])
        #expect(answer.description.media[1].payloadTypes == [111] && answer.description.media[1].sources.isEmpty)
    }

    @Test("the transport is that of the group's first section, also if it has no media")
    func taggedTransport() throws {
        let offer = OfferText.make(
            [.video("1", direction: "recvonly"), .audio("0", "0", [], direction: "recvonly")], groups: ["0 1"])
        let answer = try Answer.toViewer(offer, of: .h264(.stream))
        #expect(answer.session.remoteTransport.iceUfrag == "0frag" && answer.description.bundle == ["0", "1"])
    }

    @Test("a viewer's answer with an inactive section is accepted, and nothing is received in it")
    func inactiveAnswer() throws {
        let offer = Offer(
            sections: [
                OfferSection(type: .audio, direction: .receiveOnly),
                OfferSection(type: .video, direction: .receiveOnly),
            ], originSessionID: 1, transport: .client, capabilities: MediaCapabilities())
        let answer = try Answer(
            to: offer.description, originSessionID: 1, transport: .test, capabilities: MediaCapabilities()
        ) { type, _ in type == .video ? .send(.vp8, from: .video) : nil }
        let session = try offer.accept(SessionDescription(parsing: answer.description.text))
        #expect(session.media.filter { $0.direction.receives }.map(\.type) == [.video] && session.problems.isEmpty)
        let receiver = MediaReceiver(session.media, reporterSSRC: 1, cname: "c", measuresRoundTrip: true)
        #expect(receiver.audio == nil && receiver.video != nil)
    }

    // MARK: Header extensions

    @Test(
        "a mid that packets cannot carry has no extension, in both directions",
        arguments: [(1, true), (16, true), (17, false), (32, false), (200, false)])
    func longMID(length: Int, containsRedundancy: Bool) throws {
        let mid = String(repeating: "m", count: length)
        let extensions = ["a=extmap:4 \(RTPHeaderExtension.mid.uri)", "a=extmap:3 urn:3gpp:video-orientation"]
        for session in [[], ["a=extmap-allow-mixed"]] {
            let offer = OfferText.make([.video(mid, "96", OfferText.h264 + extensions)], session: session)
            for answer in [
                try Answer.toPublisher(offer),
                try Answer.toViewer(offer.replacing("sendonly", with: "recvonly"), of: .h264(.stream)),
            ] {
                #expect(answer.session.media.first?.mid == mid && answer.description.bundle == [mid])
                #expect((answer.session.media.first?.extensionMap.id(of: .mid) == 4) == containsRedundancy)
                #expect(answer.lines.contains { $0.hasPrefix("a=extmap:4") } == containsRedundancy)
                #expect(answer.lines.contains { $0.hasPrefix("a=extmap:3") })
            }
        }
    }

    @Test("a section without a mid has no MID extension") func noMID() throws {
        let lines = OfferText.h264 + ["a=extmap:4 \(RTPHeaderExtension.mid.uri)"]
        let answer = try Answer.toPublisher(OfferText.make([.video(nil, "96", lines)], groups: []))
        #expect(answer.session.media.first?.extensionMap.id(of: .mid) == nil)
    }
}

/// Offers line by line, for peers of any implementation.
enum OfferText {
    static let opus = ["a=rtpmap:111 opus/48000/2", "a=fmtp:111 minptime=10;useinbandfec=1"]
    static let h264 = [
        "a=rtpmap:96 H264/90000", "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli",
        "a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
    ]
    /// The attribute of a SHA-256 fingerprint.
    static let fingerprint = "sha-256 " + (0..<32).map { _ in "AB" }.joined(separator: ":")

    struct Section {
        var first: String
        var mid: String?
        var lines: [String]
        var isMultiplexed = true
        var direction: String?
        var fingerprints = [fingerprint]

        static func audio(
            _ mid: String? = "0", _ types: String = "111", _ lines: [String] = opus, direction: String = "sendonly",
            transport: String = "UDP/TLS/RTP/SAVPF"
        ) -> Section {
            Section(first: "m=audio 9 \(transport) \(types)", mid: mid, lines: lines, direction: direction)
        }

        static func video(
            _ mid: String? = "1", _ types: String = "96", _ lines: [String] = h264, direction: String = "sendonly",
            transport: String = "UDP/TLS/RTP/SAVPF"
        ) -> Section {
            Section(first: "m=video 9 \(transport) \(types)", mid: mid, lines: lines, direction: direction)
        }

        static func dataChannel(_ mid: String = "2") -> Section {
            Section(
                first: "m=application 9 UDP/DTLS/SCTP webrtc-datachannel", mid: mid, lines: ["a=sctp-port:5000"],
                isMultiplexed: false)
        }

        var text: [String] {
            var text = [first, "c=IN IP4 0.0.0.0"]
            if let mid { text.append("a=mid:\(mid)") }
            text += ["a=ice-ufrag:\(mid ?? "none")frag", "a=ice-pwd:0123456789012345678901", "a=setup:actpass"]
            text += fingerprints.map { "a=fingerprint:\($0)" }
            if let direction { text.append("a=\(direction)") }
            if isMultiplexed { text.append("a=rtcp-mux") }
            return text + lines
        }
    }

    /// Returns an offer of sections. Nil for `groups` makes one BUNDLE group of all MIDs.
    static func make(_ sections: [Section], groups: [String]? = nil, session: [String] = []) -> String {
        let groups = groups ?? [sections.compactMap(\.mid).joined(separator: " ")]
        let head =
            ["v=0", "o=- 1 2 IN IP4 127.0.0.1", "s=-", "t=0 0"] + groups.map { "a=group:BUNDLE \($0)" } + session
        return (head + sections.flatMap(\.text)).map { $0 + "\r\n" }.joined()
    }
}
