import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

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
