import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@Suite("Offers")
struct SDPOfferTests {
    @Test("layers are offered by name, without sources, and those of the answer are negotiated")
    func offersLayers() throws {
        let section = OfferSection(
            type: .video, direction: .sendOnly, codecs: [.h264], source: .video, layers: ["l", "m", "h"])
        let offer = Offer(
            sections: [section], originSessionID: 5, transport: .client, capabilities: MediaCapabilities())
        let lines = offer.description.text.split(separator: "\r\n").map(String.init)
        #expect(lines.contains("a=simulcast:send l;m;h") && lines.contains("a=rid:m send"))
        #expect(!lines.contains { $0.hasPrefix("a=ssrc") })
        let whole = try Answer.toPublisher(offer.description.text)
        #expect(whole.session.media[0].rids == ["l", "m", "h"])
        #expect(try offer.accept(whole.description).media[0].rids == ["l", "m", "h"])

        var part = whole.description
        part.media[0].simulcast = SimulcastDescription(receive: [[.init(rid: "h")], [.init(rid: "strange")]])
        #expect(try offer.accept(part).media[0].rids == ["h"])
        var none = whole.description
        none.media[0].extensions.removeAll { $0.uri.hasSuffix(":rtp-stream-id") }
        #expect(try offer.accept(none).media[0].rids.isEmpty)
    }

    private func offer(_ direction: MediaDirection) -> Offer {
        Offer(
            sections: [
                OfferSection(type: .video, direction: direction, source: .video),
                OfferSection(type: .audio, direction: direction, source: .audio),
            ], originSessionID: 5, transport: .client, capabilities: MediaCapabilities())
    }

    private func answer(_ offer: Offer, intent: (MediaType) -> AnswerOptions?) throws -> Answer {
        try Answer(
            to: SessionDescription(parsing: offer.description.text), originSessionID: 6, transport: .test,
            capabilities: MediaCapabilities(startBitrate: .kilobits(900))
        ) { type, _ in intent(type) }
    }

    @Test("an offer has its codecs, extensions and sources, and is parsed as written")
    func writes() throws {
        let offer = offer(.sendOnly)
        let text = offer.description.text
        #expect(try SessionDescription(parsing: text) == offer.description)
        for line in [
            "a=group:BUNDLE 0 1", "a=extmap-allow-mixed", "m=video 9 UDP/TLS/RTP/SAVPF 102 103 96 97",
            "m=audio 9 UDP/TLS/RTP/SAVPF 111 63 112", "a=rtpmap:63 red/48000/2", "a=fmtp:63 111/111",
            "a=fmtp:112 apt=111", "a=setup:actpass", "a=sendonly", "a=rtpmap:102 H264/90000",
            "a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f", "a=fmtp:97 apt=96",
            "a=fmtp:111 minptime=10;useinbandfec=1;stereo=1;sprop-stereo=1", "a=ssrc-group:FID 1000 1001",
            "a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid",
            "a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
            "a=extmap:6 http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time", "a=rtcp-fb:96 goog-remb",
            "a=rtcp-fb:111 transport-cc",
        ] {
            #expect(text.contains(line + "\r\n"), "\(line)")
        }
        #expect(!text.contains("a=end-of-candidates") && !text.contains("a=ice-lite"))
    }

    @Test("publishing: offer, answer and acceptance agree on everything")
    func publishes() throws {
        let offer = offer(.sendOnly)
        let answer = try answer(offer) { _ in .receive }
        let ours = try offer.accept(SessionDescription(parsing: answer.description.text))
        #expect(ours.isDTLSClient && !answer.session.isDTLSClient)
        #expect(ours.remoteTransport.isLite && ours.remoteTransport.iceUfrag == "srvU")
        #expect(ours.remoteTransport.fingerprints == [TransportDescription.test.fingerprint])
        #expect(ours.remoteTransport.candidates == TransportDescription.test.candidates)
        #expect(ours.remoteTransport.hasAllCandidates)
        #expect(ours.media.count == 2 && answer.session.media.count == 2)
        for (mine, theirs) in zip(ours.media, answer.session.media) {
            #expect(mine.direction == .sendOnly && theirs.direction == .receiveOnly && mine.mid == theirs.mid)
            #expect(mine.format == theirs.format && mine.feedback == theirs.feedback)
            #expect(mine.extensionMap == theirs.extensionMap && mine.remoteSources.isEmpty)
            #expect(theirs.remoteSources == [IncomingSource(ssrc: mine.localSSRC ?? 0, rtxSSRC: mine.localRTXSSRC)])
        }
        let video = ours.media[0]
        #expect(video.codec == .h264 && video.payloadType == 102 && video.localRTXSSRC == 1_001)
        #expect(video.feedback == [.nack, .pli, .fir, .transportCC, .pause, .pauseWithoutWait])
        #expect(video.extensionMap.id(of: .transportSequenceNumber) == 3)
        #expect(video.extensionMap.id(of: .absoluteSendTime) == nil)
        #expect(video.format.parameters["x-google-start-bitrate"] == "900")
        #expect(ours.media[1].opusStereo && ours.media[1].extensionMap.id(of: .audioLevel) == 5)
    }

    @Test("viewing: the answer's codec and sources are used")
    func views() throws {
        let offer = offer(.receiveOnly)
        let answer = try answer(offer) { $0 == .video ? .send(.vp8, from: .video) : .send(.opus, from: .audio) }
        let ours = try offer.accept(answer.description)
        #expect(ours.media.map(\.payloadType) == [96, 111])
        #expect(ours.media.map(\.direction) == [.receiveOnly, .receiveOnly])
        #expect(ours.media[0].remoteSources == [IncomingSource(ssrc: 1_000, rtxSSRC: 1_001)])
        #expect(ours.media[0].remoteCNAME == "c" && ours.media[0].remoteMSID?.track == "v")
        #expect(ours.media[0].localSSRC == nil && ours.media[1].opusStereo)
    }

    @Test("a rejected section is not part of the session")
    func refused() throws {
        let offer = offer(.sendOnly)
        let answer = try answer(offer) { $0 == .audio ? .receive : nil }
        let session = try offer.accept(answer.description)
        // The first section of the bundle is inactive, because it cannot be rejected alone.
        #expect(session.media.map(\.direction) == [.inactive, .sendOnly])
        var rejected = answer.description
        rejected.media[0].port = 0
        rejected.bundle = ["1"]
        let other = try offer.accept(rejected)
        #expect(other.media.map(\.index) == [1] && other.media(withMid: "0") == nil && other.problems.isEmpty)
    }

    @Test("an answer with two estimators or unoffered IDs, codecs or profiles is restricted to the offer")
    func foreignAnswer() throws {
        let offer = offer(.sendOnly)
        var answer = try answer(offer) { _ in .receive }.description
        answer.media[0].feedback.append(FeedbackAttribute(payloadType: 102, value: "goog-remb"))
        answer.media[0].extensions.append(ExtensionMapping(id: 9, uri: RTPHeaderExtension.rid.uri))
        answer.media[0].payloadTypes += [35, 96]
        answer.media[0].rtpMaps += [
            RTPMap(payloadType: 35, encoding: "VP9", clockRate: 90_000),
            RTPMap(payloadType: 96, encoding: "vp8", clockRate: 90_000),
        ]
        let video = try offer.accept(answer).media[0]
        #expect(video.feedback == [.nack, .pli, .fir, .transportCC, .pause, .pauseWithoutWait])
        #expect(video.extensionMap.id(of: .rid) == nil)
        #expect(video.acceptablePayloads.map(\.payloadType) == [102, 96])
        answer.media[0].formatParameters[102]?["profile-level-id"] = "64001f"
        #expect(try offer.accept(answer).media[0].payloadType == 96)
    }

    @Test("the role in an answer determines the local one, and actpass is invalid")
    func answeredDTLSRoles() throws {
        let offer = offer(.sendOnly)
        var answer = try answer(offer) { _ in .receive }.description
        for (role, expected) in [(SetupRole.active, SetupRole.passive), (.passive, .active)] {
            for index in 0...1 { answer.media[index].setup = role }
            #expect(try offer.accept(answer).localSetup == expected)
        }
        for role in [SetupRole.actpass, .holdconn] {
            for index in 0...1 { answer.media[index].setup = role }
            #expect(throws: SDPError.unusableSetup) { try offer.accept(answer) }
        }
    }

    @Test("an answer whose sections differ from the offer's is rejected")
    func rejectsMismatchedSections() throws {
        let offer = offer(.sendOnly)
        let answer = try answer(offer) { _ in .receive }.description
        var fewer = answer
        fewer.media.removeLast()
        #expect(throws: SDPError.answerDoesNotMatchOffer) { try offer.accept(fewer) }
        var swapped = answer
        swapped.media.swapAt(0, 1)
        #expect(throws: SDPError.answerDoesNotMatchOffer) { try offer.accept(swapped) }
        var renamed = answer
        renamed.media[0].mid = "7"
        #expect(throws: SDPError.answerDoesNotMatchOffer) { try offer.accept(renamed) }
    }

    @Test("an answer of aiortc is accepted")
    func aiortcAnswer() throws {
        let answer = try SessionDescription(parsing: SDPSamples.aiortcPublisherAnswer)
        let media = try offer(.sendOnly).accept(answer).media
        // It answered another offer. The codecs are those of this offer, under the answer's payload types.
        #expect(media.map(\.codec) == [.vp8, .opus] && media.map(\.payloadType) == [97, 96])
        #expect(media[0].extensionMap.id(of: .mid) == 1 && media[0].extensionMap.id(of: .absoluteSendTime) == nil)
        #expect(media[0].feedback == [.nack, .pli, .remb])
    }
}
