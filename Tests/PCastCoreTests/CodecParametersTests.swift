import PCastCore
import Testing

/// The format of a video and its codec string.
@Suite struct CodecParametersTests {
    private static let fullHD = Dimensions(width: 1920, height: 1080)

    private static func h265(
        profile: UInt8 = 1, compatibility: UInt32 = 0x6000_0000, constraints: UInt64 = 0xB000_0000_0000,
        level: UInt8 = 93, space: UInt8 = 0, isHighTier: Bool = false
    ) -> CodecParameters {
        CodecParameters(
            .h265(
                H265ProfileTierLevel(
                    space: space, isHighTier: isHighTier, profile: profile, compatibility: compatibility,
                    constraints: constraints, level: level)), dimensions: fullHD)
    }

    @Test("the codec string of H.264 has profile, constraints and level in hexadecimal")
    func h264() {
        func video(_ profile: UInt8, _ constraints: UInt8, _ level: UInt8) -> CodecParameters {
            CodecParameters(
                .h264(H264ProfileIDC(number: profile, constraints: constraints), level: level),
                dimensions: Self.fullHD)
        }
        let high = video(100, 0, 31)
        #expect(high.codecString == "avc1.64001f" && high.profile == "High" && high.level == "3.1")
        #expect(high.codec == .h264 && high.tier == nil && high.bitDepth == 8)
        let baseline = video(66, 0xC0, 13)
        #expect(baseline.codecString == "avc1.42c00d" && baseline.profile == "Constrained Baseline")
        #expect(baseline.level == "1.3")
        // Level 1b has a flag, or a number of its own in newer profiles.
        #expect(video(66, 0xD0, 11).level == "1b" && video(66, 0xC0, 11).level == "1.1")
        #expect(video(100, 0, 9).level == "1b" && video(100, 0x10, 11).level == "1.1")
    }

    @Test("the codec string of H.265 reverses the compatibility flags, and omits constraints of zero")
    func h265() {
        // The examples of ISO/IEC 14496-15, section E.3, have this form.
        let main = Self.h265()
        #expect(main.codecString == "hvc1.1.6.L93.B0" && main.profile == "Main")
        #expect(main.level == "3.1" && main.tier == "Main")
        let deep = Self.h265(profile: 2, compatibility: 0x2000_0000, constraints: 0x9000_0800_0000, level: 153)
        #expect(deep.codecString == "hvc1.2.4.L153.90.0.8" && deep.profile == "Main 10" && deep.level == "5.1")
        let other = Self.h265(
            profile: 4, compatibility: 0x0800_0000, constraints: 0, level: 60, space: 1, isHighTier: true)
        #expect(other.codecString == "hvc1.A4.10.H60" && other.tier == "High" && other.level == "2.0")
    }

    @Test("the codec string of AV1 has profile, level, tier and bits")
    func av1() {
        func video(_ profile: UInt8, _ level: UInt8, _ tier: UInt8, _ bits: Int) -> CodecParameters {
            CodecParameters(
                .av1(profile: profile, level: level, tier: tier), bitDepth: bits, dimensions: Self.fullHD)
        }
        let main = video(0, 8, 0, 8)
        #expect(main.codecString == "av01.0.08M.08" && main.level == "4.0" && main.tier == "Main")
        let high = video(1, 13, 1, 10)
        #expect(high.codecString == "av01.1.13H.10" && high.level == "5.1" && high.tier == "High")
        #expect(high.profile == "High" && video(2, 0, 0, 12).profile == "Professional")
        // Levels below 4.0 have one tier, and level index 31 is without limits.
        #expect(video(0, 5, 0, 8).level == "3.1" && video(0, 5, 0, 8).tier == nil)
        #expect(video(0, 31, 0, 8).level == nil)
    }

    @Test(
        "the codec string of VP9 has the lowest level that permits the size",
        arguments: [
            (208, 120, "10"), (640, 360, "21"), (1280, 720, "31"), (1920, 1080, "40"), (1080, 1920, "40"),
            (3840, 2160, "50"), (7680, 4320, "60"), (16_384, 16, "60"),
        ])
    func vp9(width: Int, height: Int, level: String) {
        let video = CodecParameters(
            .vp9(profile: 0), dimensions: Dimensions(width: width, height: height))
        #expect(video.codecString == "vp09.00.\(level).08")
        #expect(video.profile == "Profile 0" && video.level == nil && video.tier == nil)
    }

    @Test("VP8 has no parameters in its codec string")
    func vp8() {
        let video = CodecParameters(.vp8(version: 0), dimensions: Self.fullHD)
        #expect(video.codecString == "vp8" && video.codec == .vp8 && video.profile == "Profile 0")
    }
}
