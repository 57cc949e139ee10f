import PCastCore
import PCastWebRTC
import Testing

/// The formats of VP9, AV1 and H.265 in offers and answers.
@Suite("Profiles of VP9, AV1 and H.265")
struct SDPVideoProfileTests {
    /// The capabilities of a server that forwards all codecs, with an order of preference.
    private static func capabilities(_ codecs: [Codec] = []) -> MediaCapabilities {
        MediaCapabilities(codecs: codecs + [.h264, .vp8, .vp9, .av1, .h265, .opus].filter { !codecs.contains($0) })
    }

    /// Returns the offer of a section with these formats, from the payload type 96 on.
    private static func offer(_ formats: [(name: String, parameters: String)], direction: String) -> String {
        let types = formats.indices.map { String(96 + $0) }.joined(separator: " ")
        let lines = formats.enumerated().flatMap { place, format in
            ["a=rtpmap:\(96 + place) \(format.name)/90000", "a=fmtp:\(96 + place) \(format.parameters)"]
        }
        return OfferText.make([
            .audio(direction: direction), .video("1", types, lines, direction: direction),
        ])
    }

    private static func stream(_ codec: Codec, profile: UInt8) throws -> SourceFormat {
        var parameters = try #require(VideoProfile(mainOf: codec))
        parameters.profile = profile
        return SourceFormat(codec: codec, profile: parameters)
    }

    @Test(
        "a publisher's format is accepted with its parameters",
        arguments: [
            ("VP9", "profile-id=0", "profile-id=0"), ("VP9", "profile-id=2", "profile-id=2"),
            ("VP9", "x=1", "profile-id=0"), ("AV1", "level-idx=8;profile=0;tier=1", "level-idx=8;profile=0;tier=1"),
            ("AV1", "x=1", "level-idx=5;profile=0;tier=0"),
            (
                "H265", "level-id=120;profile-id=2;tier-flag=1;tx-mode=SRST",
                "level-id=120;profile-id=2;tier-flag=1;tx-mode=SRST"
            ), ("H265", "x=1", "level-id=93;profile-id=1;tier-flag=0;tx-mode=SRST"),
        ])
    func publishers(name: String, offered: String, answered: String) throws {
        let text = Self.offer([(name, offered)], direction: "sendonly")
        let answer = try Answer.toPublisher(text, capabilities: Self.capabilities())
        #expect(answer.problems.isEmpty)
        #expect(answer.session.media.map(\.codec.rawValue) == ["opus", name])
        #expect(answer.lines.contains("a=fmtp:96 \(answered)"))
    }

    @Test(
        "formats that are not forwarded are rejected",
        arguments: [
            ("VP9", "profile-id=1"), ("VP9", "profile-id=3"), ("VP9", "profile-id=a"), ("AV1", "profile=3"),
            ("AV1", "tier=2"), ("AV1", "level-idx=999"), ("H265", "profile-id=4"), ("H265", "profile-space=1"),
            ("H265", "tx-mode=MRST"), ("H265", "sprop-max-don-diff=1"), ("H265", "tier-flag=2"),
        ])
    func refused(name: String, parameters: String) throws {
        let text = Self.offer([(name, parameters)], direction: "sendonly")
        let answer = try Answer.toPublisher(text, capabilities: Self.capabilities())
        #expect(answer.problems.map(\.reason.code) == ["codec"])
        #expect(answer.problems.first?.description.contains(name) == true)
    }

    @Test("Chromium's formats of VP9 and AV1 are answered with RTX to a publisher and a viewer")
    func chromium() throws {
        let publisher = SDPSamples.chromiumViewerOffer.replacing("a=recvonly", with: "a=sendonly")
        for (codec, type) in [(Codec.vp9, 98 as UInt8), (.av1, 45)] {
            let answer = try Answer.toPublisher(publisher, capabilities: Self.capabilities([codec]))
            let video = try #require(answer.session.media.first { $0.type == .video })
            #expect(video.codec == codec && video.payloadType == type && video.rtxPayloadType == type + 1)
            let viewer = try Answer.toViewer(
                SDPSamples.chromiumViewerOffer, of: SourceFormat(video.format), capabilities: Self.capabilities())
            let sent = try #require(viewer.session.media.first { $0.type == .video })
            #expect(sent.codec == codec && sent.payloadType == type && sent.rtxPayloadType == type + 1)
        }
        let deep = try Answer.toViewer(
            SDPSamples.chromiumViewerOffer, of: Self.stream(.vp9, profile: 2), capabilities: Self.capabilities())
        #expect(deep.session.media.first { $0.type == .video }?.payloadType == 100)
        let hevc = try Answer.toViewer(
            SDPSamples.chromiumViewerOffer, of: Self.stream(.h265, profile: 1), capabilities: Self.capabilities())
        #expect(hevc.problems.map(\.reason.code) == ["codec"])
        #expect(hevc.problems.first?.description.contains("Offer H265.") == true)
    }

    @Test("a viewer receives a stream under the narrowest profile that includes the stream's")
    func profiles() throws {
        let formats: [(name: String, parameters: String)] = [
            ("H265", "profile-id=2"), ("H265", "profile-id=1"), ("VP9", "profile-id=2"),
        ]
        let text = Self.offer(formats, direction: "recvonly")
        func answered(_ stream: SourceFormat) throws -> UInt8? {
            try Answer.toViewer(text, of: stream, capabilities: Self.capabilities()).session.media
                .first { $0.type == .video }?.payloadType
        }
        #expect(try answered(Self.stream(.h265, profile: 1)) == 97)
        #expect(try answered(Self.stream(.h265, profile: 2)) == 96)
        #expect(try answered(Self.stream(.vp9, profile: 2)) == 98)
        #expect(try answered(Self.stream(.vp9, profile: 0)) == nil)
    }
}
