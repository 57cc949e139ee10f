import PCastCore
import PCastWebRTC
import Testing

@Suite("Payload formats")
struct SDPFormatTests {
    @Test(
        "H.264 profiles are recognized by their bits rather than by the string",
        arguments: [
            ("42001f", H264Profile.constrainedBaseline), ("42e01f", .constrainedBaseline),
            ("42c01e", .constrainedBaseline), ("42001e", .constrainedBaseline), ("42E01F", .constrainedBaseline),
            ("4d801f", .constrainedBaseline), ("58c01f", .constrainedBaseline), ("4d001f", .main),
            ("64001f", .high), ("640c1f", .constrainedHigh),
        ])
    func recognizesH264Profiles(id: String, profile: H264Profile) throws {
        let format = try #require(H264Format(parameters: ["profile-level-id": id, "packetization-mode": "1"]))
        #expect(format.profile == profile && format.packetizationMode == 1 && !format.allowsLevelAsymmetry)
        #expect(format.profileLevelID == id.lowercased())
    }

    @Test("unusable profiles and modes are rejected", arguments: ["f4001f", "58001f", "42e0", "+2e01f", "42e01g", ""])
    func refusedProfiles(id: String) {
        #expect(H264Format(parameters: ["profile-level-id": id]) == nil)
        #expect(H264Format(parameters: ["profile-level-id": "42e01f", "packetization-mode": "2"]) == nil)
    }

    @Test("missing parameters mean Baseline profile, level 1 and packetization mode 0")
    func defaults() throws {
        let format = try #require(H264Format(parameters: [:]))
        #expect(format.profile == .constrainedBaseline && format.packetizationMode == 0)
        #expect(format.level == H264Level(indication: 10))
    }

    @Test("the level follows frame size and frame rate")
    func levelOfSizeAndFrameRate() {
        func level(_ width: Int, _ height: Int, _ rate: Int) -> H264Level? {
            .lowest(for: Dimensions(width: width, height: height), framesPerSecond: rate)
        }
        #expect(level(352, 288, 30) == .level13 && level(640, 480, 30) == .level30)
        #expect(level(1_280, 720, 30) == .level31 && level(1_280, 720, 60) == .level32)
        #expect(level(1_920, 1_080, 30) == .level40 && level(1_920, 1_080, 60) == .level42)
        #expect(level(3_840, 2_160, 30) == .level51 && level(3_840, 2_160, 60) == .level52)
        #expect(level(7_680, 4_320, 30) == nil && level(0, 720, 30) == nil && level(.max, .max, .max) == nil)
    }

    @Test("the formats of a section have RTX, feedback and the wildcard's feedback")
    func payloadFormats() throws {
        let text =
            SDPParsingTests.minimal
                + """
                m=video 9 UDP/TLS/RTP/SAVPF 100 101 96 97 98
                a=rtpmap:96 VP8/90000
                a=rtpmap:97 RTX/90000
                a=fmtp:97 apt=96;rtx-time=3000
                a=rtpmap:98 VP8/8000
                a=rtpmap:100 h264/90000
                a=rtpmap:101 opus/48000/2
                a=fmtp:100 packetization-mode=1; profile-level-id=42e01f
                a=rtcp-fb:96 nack
                a=rtcp-fb:* nack pli
                a=rtcp-fb:100 ccm  fir
                """
        let formats = try SessionDescription(parsing: text).media[0].payloadFormats
        #expect(formats.map(\.payloadType) == [100, 96] && formats.map(\.codec) == [.h264, .vp8])
        #expect(formats[1].rtxPayloadType == 97 && formats[1].feedback == [.nack, .pli])
        #expect(formats[0].rtxPayloadType == nil && formats[0].feedback == [.pli, .fir])
        #expect(formats[0].h264 == H264Format(parameters: formats[0].parameters))
    }

    @Test("format parameters keep their order and compare names without case")
    func parameters() {
        var parameters: FormatParameters = ["a": "1", "B": "2"]
        #expect(parameters["A"] == "1" && parameters["b"] == "2" && parameters["c"] == nil)
        parameters["b"] = "3"
        parameters["c"] = "4"
        parameters["a"] = nil
        #expect(parameters == ["B": "3", "c": "4"])
    }
}
