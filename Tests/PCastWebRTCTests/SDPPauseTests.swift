import PCastCore
import PCastWebRTC
import Testing

/// RFC 7728, section 9.
@Suite("The negotiation of pauses")
struct SDPPauseTests {
    private func offer(feedback: RTCPFeedback = .all) -> Offer {
        Offer(
            sections: [
                OfferSection(type: .video, direction: .sendOnly, codecs: [.h264], source: .video),
                OfferSection(type: .audio, direction: .sendOnly, source: .audio),
            ], originSessionID: 5, transport: .client, capabilities: MediaCapabilities(feedback: feedback))
    }

    private func answer(_ offer: SessionDescription, feedback: RTCPFeedback = .all) throws -> Answer {
        try Answer(
            to: offer, originSessionID: 77, transport: .test, capabilities: MediaCapabilities(feedback: feedback)
        ) { _, _ in .receive }
    }

    private func pauses(_ description: SessionDescription) -> [String] {
        description.text.split(separator: "\r\n").filter { $0.contains("ccm pause") }.map(String.init)
    }

    @Test("sent media may be paused, at once if both ends are alone, for video and audio")
    func offers() throws {
        let offer = offer()
        #expect(pauses(offer.description) == ["a=rtcp-fb:102 ccm pause nowait", "a=rtcp-fb:111 ccm pause nowait"])
        let answer = try answer(offer.description)
        #expect(pauses(answer.description) == pauses(offer.description))
        for media in answer.session.media + (try offer.accept(answer.description)).media {
            #expect(media.feedback.isSuperset(of: [.pause, .pauseWithoutWait]))
        }
    }

    @Test("without it in the offer or the answer, no pause is requested")
    func refused() throws {
        let withoutPauses = RTCPFeedback.all.subtracting([.pause, .pauseWithoutWait])
        let plain = offer(feedback: withoutPauses)
        #expect(pauses(plain.description).isEmpty)
        #expect(pauses(try answer(plain.description).description).isEmpty)
        let offer = offer()
        let answer = try answer(offer.description, feedback: withoutPauses)
        #expect(pauses(answer.description).isEmpty)
        for media in try offer.accept(answer.description).media { #expect(!media.feedback.contains(.pause)) }
    }

    @Test(
        "an answer adds no nowait, accepts no partial implementation, and omits unknown attributes",
        arguments: [
            ("ccm pause", ["a=rtcp-fb:102 ccm pause"]), ("ccm pause nowait", ["a=rtcp-fb:102 ccm pause nowait"]),
            ("ccm pause config=1 nowait", ["a=rtcp-fb:102 ccm pause nowait"]),
            ("ccm pause config=1", ["a=rtcp-fb:102 ccm pause"]), ("ccm pause config=2", []),
            ("ccm pause nowait config=3", []), ("ccm pause config=77", []), ("ccm pauses", []), ("ccm", []),
            ("ccm pause later nowait", ["a=rtcp-fb:102 ccm pause nowait"]), ("nack pause", []),
        ])
    func attributes(value: String, answered: [String]) throws {
        var description = offer(feedback: [.nack]).description
        description.media[0].feedback.append(FeedbackAttribute(payloadType: 102, value: value))
        #expect(pauses(try answer(description).description) == answered)
    }

    @Test("the wildcard means every payload type")
    func wildcard() throws {
        var description = offer(feedback: [.nack]).description
        description.media[0].feedback.append(FeedbackAttribute(payloadType: nil, value: "ccm pause nowait"))
        #expect(pauses(try answer(description).description) == ["a=rtcp-fb:102 ccm pause nowait"])
    }

    @Test("Chromium, FFmpeg, GStreamer and aiortc do not offer it")
    func foreignOffers() throws {
        let texts = [
            SDPSamples.chromiumPublisherOffer, SDPSamples.chromiumSimulcastOffer, SDPSamples.ffmpegPublisherOffer,
            SDPSamples.gstreamerPublisherOffer, SDPSamples.aiortcPublisherOffer,
        ]
        for text in texts {
            let answer = try Answer.toPublisher(text)
            #expect(pauses(answer.description).isEmpty)
            #expect(answer.session.media.allSatisfy { !$0.feedback.contains(.pause) })
        }
    }
}
