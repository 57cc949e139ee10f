import PCastCore
import PCastWebRTC
import Testing

/// The H.264 format of a viewer under which a stream is sent.
@Suite("H.264 for viewers")
struct SDPH264ViewerTests {
    private static func lines(_ profiles: [String], mode: Int) -> [String] {
        profiles.enumerated().flatMap { place, profile in
            [
                "a=rtpmap:\(96 + place) H264/90000",
                "a=fmtp:\(96 + place) level-asymmetry-allowed=1;packetization-mode=\(mode);profile-level-id=\(profile)",
            ]
        }
    }

    private func answer(
        _ stream: H264Format, _ profiles: [String], mode: Int = 1
    ) throws -> Answer {
        let types = profiles.indices.map { String(96 + $0) }.joined(separator: " ")
        let section = OfferText.Section.video("1", types, Self.lines(profiles, mode: mode), direction: "recvonly")
        return try Answer.toViewer(OfferText.make([.audio(direction: "recvonly"), section]), of: .h264(stream))
    }

    @Test(
        "a stream of any profile is sent to every H.264 viewer, under the nearest profile",
        arguments: [
            (H264Profile.high, ["640c1f", "42e01f"], "640c28"), (.high, ["42e01f", "640c34"], "640c28"),
            (.high, ["42e01f", "42001f"], "42e028"), (.high, ["42001f", "42e01f", "4d001f", "f4001f"], "4d0028"),
            (.high, ["42001f", "640c1f", "64001f"], "640028"), (.constrainedHigh, ["64001f", "640c1f"], "640c28"),
            (.constrainedHigh, ["42e01f", "64001f"], "640028"), (.main, ["42e01f", "64001f"], "640028"),
            (.main, ["42001f"], "420028"), (.constrainedBaseline, ["64001f", "42e01f"], "42e028"),
        ])
    func profiles(profile: H264Profile, offered: [String], answered: String) throws {
        let answer = try answer(H264Format(profile: profile, level: .level40), offered)
        let video = try #require(answer.session.media.first { $0.type == .video })
        #expect(answer.problems.isEmpty && video.direction == .sendOnly)
        #expect(video.format.h264?.profileLevelID == answered)
    }

    @Test("a profile that includes the stream's has priority over a level that does") func levels() throws {
        let stream = H264Format(profile: .high, level: .level40)
        #expect(try answer(stream, ["64001f", "42e034"]).session.media[1].payloadType == 96)
        #expect(try answer(stream, ["64001f", "640034"]).session.media[1].payloadType == 97)
    }

    @Test("a viewer that needs complete NAL units gets no fragments, which is reported; complete ones go to any")
    func packetization() throws {
        let refused = try answer(H264Format(profile: .high, level: .level31), ["64001f", "42e01f"], mode: 0)
        #expect(refused.problems.map(\.reason) == [.packetizationMode])
        #expect(refused.description.media[1].direction == .inactive)
        let whole = H264Format(profile: .high, level: .level31, packetizationMode: 0)
        #expect(try answer(whole, ["42e01f"], mode: 0).problems.isEmpty)
        #expect(try answer(whole, ["42e01f"], mode: 1).problems.isEmpty)
    }

    @Test("an offer lists the narrower profiles too, of which the answer selects one")
    func offered() throws {
        func offer(_ profile: H264Profile) -> Offer {
            let format = SourceFormat.h264(H264Format(profile: profile, level: .level40))
            return Offer(
                sections: [OfferSection(type: .video, direction: .sendOnly, format: format, source: .video)],
                originSessionID: 1, transport: .test, capabilities: MediaCapabilities())
        }
        let profiles = { (offer: Offer) in
            offer.description.media[0].payloadFormats.compactMap { $0.h264?.profileLevelID }
        }
        #expect(profiles(offer(.high)) == ["640028", "640c28", "4d0028", "42e028"])
        #expect(profiles(offer(.main)) == ["4d0028", "42e028"])
        #expect(profiles(offer(.constrainedBaseline)) == ["42e028"])
        // A browser that knows Baseline answers with it alone.
        var capabilities = MediaCapabilities(h264Level: .level31)
        capabilities.codecs = [.h264]
        var text = offer(.high).description.text
        for profile in ["640028", "640c28", "4d0028"] { text = text.replacing(profile, with: "f4001f") }
        let answer = try Answer(
            to: SessionDescription(parsing: text), originSessionID: 2, transport: .client, capabilities: capabilities
        ) { _, _ in .receive }
        let session = try offer(.high).accept(answer.description)
        #expect(session.media.first?.format.h264?.profile == .constrainedBaseline)
        #expect(session.media.first?.direction == .sendOnly)
        #expect(session.problems.isEmpty)
    }
}
