/// The format of a coded video as the headers of its key frames state it: parameter sets of H.264 and H.265, sequence
/// headers of AV1, frame headers of VP8 and VP9.
///
/// It has no texts, so that it is stored without allocation. They are made when they are read.
public struct CodecParameters: Hashable, Sendable {
    /// The fields of the headers of a codec.
    package enum Headers: Hashable, Sendable {
        /// Profile, constraints and level of a sequence parameter set.
        case h264(H264ProfileIDC, level: UInt8)
        /// Profile, tier and level of a sequence parameter set.
        case h265(H265ProfileTierLevel)
        /// The version of the frame header, 0 to 3 (RFC 6386, section 9.1).
        case vp8(version: UInt8)
        /// The profile of the frame header, 0 to 3.
        case vp9(profile: UInt8)
        /// Profile, level index (`seq_level_idx`) and tier of a sequence header.
        case av1(profile: UInt8, level: UInt8, tier: UInt8)
    }

    /// The fields of the headers.
    package let headers: Headers
    /// The number of bits of a luma sample, such as 8 or 10.
    public let bitDepth: Int
    /// The size of the frames; of several spatial layers, that of the highest one.
    public let dimensions: Dimensions

    /// Creates a configuration from parsed headers.
    package init(_ headers: Headers, bitDepth: Int = 8, dimensions: Dimensions) {
        (self.headers, self.bitDepth, self.dimensions) = (headers, bitDepth, dimensions)
    }

    /// Creates the configuration of H.264.
    package init(_ set: H264SequenceParameterSet) {
        self.init(
            .h264(set.profile, level: set.level), bitDepth: Int(set.chroma?.lumaDepth ?? 8), dimensions: set.dimensions)
    }

    /// The codec.
    public var codec: Codec {
        switch headers {
        case .h264: .h264
        case .h265: .h265
        case .vp8: .vp8
        case .vp9: .vp9
        case .av1: .av1
        }
    }

    // MARK: Codec string

    /// The codec string of containers, browsers and HLS, such as `avc1.64001f` (RFC 6381): that of ISO/IEC 14496-15,
    /// annex E, for H.264 and H.265, that of “AV1 Codec ISO Media File Format Binding”, section 5, and of “VP Codec ISO
    /// Media File Format Binding”. The bitstream of VP9 states no level, so that the lowest one is given that permits
    /// the size. VP8 has no parameters (WebCodecs Codec Registry).
    public var codecString: String {
        switch headers {
        case .h264(let profile, let level): Self.codecString(profile, level: level)
        case .h265(let general): general.codecString
        case .vp8: "vp8"
        case .vp9(let profile):
            "vp09.0\(profile).\(Self.vp9Level(of: dimensions)).\(Self.twoDigits(bitDepth))"
        case .av1(let profile, let level, let tier):
            "av01.\(profile).\(Self.twoDigits(Int(level)))\(tier == 0 ? "M" : "H").\(Self.twoDigits(bitDepth))"
        }
    }

    /// Returns the codec string of H.264: profile, constraints and level in hexadecimal (RFC 6381, section 3.3).
    package static func codecString(_ profile: H264ProfileIDC, level: UInt8) -> String {
        "avc1."
            + [profile.number, profile.constraints, level].map { byte in
                (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }.joined()
    }

    private static func twoDigits(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }

    /// The levels of VP9, multiplied by ten, with their maximum frame size in pixels and their maximum side (“VP9 Levels
    /// and Decoder Testing”). Levels that differ in the rate of frames only are left out.
    private static let vp9Levels: [(level: Int, size: Int, side: Int)] = [
        (10, 36_864, 512), (11, 73_728, 768), (20, 122_880, 960), (21, 245_760, 1_344), (30, 552_960, 2_048),
        (31, 983_040, 2_752), (40, 2_228_224, 4_160), (50, 8_912_896, 8_384),
    ]

    /// Returns the lowest level of VP9 that permits a size, multiplied by ten.
    package static func vp9Level(of dimensions: Dimensions) -> Int {
        let size = dimensions.width * dimensions.height
        let side = max(dimensions.width, dimensions.height)
        return vp9Levels.first { size <= $0.size && side <= $0.side }?.level ?? 60
    }

    // MARK: Readable texts

    /// The name of the profile, such as `Main 10`, or `Profile 2` of a codec that numbers them.
    public var profile: String {
        switch headers {
        case .h264(let profile, _): profile.name
        case .h265(let general): general.name
        case .vp8(let number), .vp9(let number): "Profile \(number)"
        case .av1(let number, _, _):
            switch number {
            case 0: "Main"
            case 1: "High"
            case 2: "Professional"
            default: "Profile \(number)"
            }
        }
    }

    /// The level, such as `4.1`; nil if the bitstream states none: VP8, VP9, and AV1 without limits.
    public var level: String? {
        switch headers {
        case .h264(let profile, let level): Self.h264Level(profile, level)
        case .h265(let general): "\(general.level / 30).\(general.level % 30 / 3)"
        case .vp8, .vp9: nil
        case .av1(_, let level, _): level == 31 ? nil : "\(2 + level >> 2).\(level & 3)"
        }
    }

    /// Returns the level of H.264. Level 1b is marked by a flag in profiles that are older than it (ITU-T H.264, section
    /// A.3).
    private static func h264Level(_ profile: H264ProfileIDC, _ level: UInt8) -> String {
        let isFlagged = [66, 77, 88].contains(profile.number) && profile.constraints & 0x10 != 0
        if level == 9 || level == 11 && isFlagged { return "1b" }
        return "\(level / 10).\(level % 10)"
    }

    /// The tier, `Main` or `High`; nil for codecs without tiers, and for levels of AV1 that have one tier only.
    public var tier: String? {
        switch headers {
        case .h264, .vp8, .vp9: nil
        case .h265(let general): general.isHighTier ? "High" : "Main"
        case .av1(_, let level, let tier): level > 7 ? (tier == 0 ? "Main" : "High") : nil
        }
    }
}

/// The general profile, tier and level of a video parameter set or sequence parameter set (ITU-T H.265, section 7.3.3).
package struct H265ProfileTierLevel: Hashable, Sendable {
    /// The value of `general_profile_space`, 0 to 3.
    package let space: UInt8
    /// Whether the tier is High.
    package let isHighTier: Bool
    /// The profile (`general_profile_idc`): 1 for Main, 2 for Main 10.
    package let profile: UInt8
    /// The 32 compatibility flags, the one of profile 0 in the highest bit.
    package let compatibility: UInt32
    /// The 48 bits of constraint flags, the first one in bit 47.
    package let constraints: UInt64
    /// The level multiplied by 30, such as 93 for 3.1.
    package let level: UInt8

    /// Creates values from parsed fields.
    package init(
        space: UInt8, isHighTier: Bool, profile: UInt8, compatibility: UInt32, constraints: UInt64, level: UInt8
    ) {
        (self.space, self.isHighTier, self.profile) = (space, isHighTier, profile)
        (self.compatibility, self.constraints, self.level) = (compatibility, constraints, level)
    }

    /// The codec string with the sample entry `hvc1` (ISO/IEC 14496-15, section E.3).
    package var codecString: String {
        let spaces = ["", "A", "B", "C"]
        // The flag of profile 0 is the lowest bit of the text.
        var flags: UInt32 = 0
        for bit in 0..<32 where compatibility & 1 << UInt32(bit) != 0 { flags |= 1 << UInt32(31 - bit) }
        let tier = isHighTier ? "H" : "L"
        var text = "hvc1.\(spaces[Int(space & 3)])\(profile).\(Self.hexadecimal(flags)).\(tier)\(level)"
        // Bytes of zero at the end are omitted.
        var rest = constraints & 0xFFFF_FFFF_FFFF
        while rest != 0 {
            text += "." + Self.hexadecimal(UInt32(rest >> 40))
            rest = rest << 8 & 0xFFFF_FFFF_FFFF
        }
        return text
    }

    private static func hexadecimal(_ value: UInt32) -> String { String(value, radix: 16, uppercase: true) }

    /// The name of the profile (ITU-T H.265, annex A).
    package var name: String { Self.name(of: profile) }

    /// Returns the name of a profile (ITU-T H.265, annex A).
    package static func name(of profile: UInt8) -> String {
        switch profile {
        case 1: "Main"
        case 2: "Main 10"
        case 3: "Main Still Picture"
        case 4: "Range Extensions"
        case 5: "High Throughput"
        case 6: "Multiview Main"
        case 7: "Scalable Main"
        case 8: "3D Main"
        case 9: "Screen Content Coding"
        case 10: "Scalable Range Extensions"
        case 11: "High Throughput Screen Content Coding"
        default: "Profile \(profile)"
        }
    }
}
