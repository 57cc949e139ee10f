public import PCastCore

/// The parameters that distinguish H.264 payload formats (RFC 6184, section 8.1).
public struct H264Format: Hashable, Sendable {
    /// The profile.
    public var profile: H264Profile
    /// The level, which limits resolution and frame rate.
    public var level: H264Level
    /// The packetization mode: 1 allows FU-A and STAP-A; 0, the default in SDP, allows only single NAL unit packets.
    public var packetizationMode: UInt8
    /// Whether the directions may have different levels (`level-asymmetry-allowed=1`).
    public var allowsLevelAsymmetry: Bool
    /// The `profile_idc` of the peer, which an answer repeats (RFC 6184, section 8.2.2).
    private var indication: UInt8
    /// The constraint flags of the peer, which an answer repeats.
    private var constraints: UInt8

    /// Creates a format.
    public init(
        profile: H264Profile, level: H264Level, packetizationMode: UInt8 = 1, allowsLevelAsymmetry: Bool = true
    ) {
        self.profile = profile
        self.level = level
        self.packetizationMode = packetizationMode
        self.allowsLevelAsymmetry = allowsLevelAsymmetry
        (indication, constraints) =
            switch profile {
            case .constrainedBaseline: (0x42, 0xE0)
            case .main: (0x4D, 0x00)
            case .constrainedHigh: (0x64, 0x0C)
            case .high: (0x64, 0x00)
            }
    }

    /// Reads the parameters of an `fmtp` line. Returns nil for an unsupported profile, e.g. High 4:4:4, and for a
    /// packetization mode above 1.
    public init?(parameters: FormatParameters) {
        // Without the parameter the profile is Baseline and the level is 1 (RFC 6184, section 8.1).
        guard let number = UInt32(hexadecimal: parameters["profile-level-id"] ?? "42000a") else { return nil }
        indication = UInt8(truncatingIfNeeded: number >> 16)
        constraints = UInt8(truncatingIfNeeded: number >> 8)
        guard let profile = H264Profile(indication: indication, constraints: constraints) else { return nil }
        self.profile = profile
        level = H264Level(indication: UInt8(truncatingIfNeeded: number))
        switch parameters["packetization-mode"] {
        case nil, "0": packetizationMode = 0
        case "1": packetizationMode = 1
        default: return nil
        }
        allowsLevelAsymmetry = parameters["level-asymmetry-allowed"] == "1"
    }

    /// Whether the format is the preferred one: a profile that all browsers decode, with fragmentation.
    var isConstrainedBaselineInFragments: Bool { profile == .constrainedBaseline && packetizationMode == 1 }

    /// Returns whether a receiver of this format can receive `stream`.
    ///
    /// The profile does not count: browsers offer Baseline and decode High, and media servers send High to all
    /// receivers of H.264. Levels do not count either, because with level asymmetry the offered level is not the limit
    /// of the decoder. A receiver with packetization mode 0 cannot reassemble fragments (RFC 6184, section 6.2).
    ///
    /// - Parameter stream: The format of the stream.
    /// - Returns: Whether the packetization mode suffices.
    func plays(_ stream: H264Format) -> Bool { packetizationMode >= stream.packetizationMode }

    /// Returns the format of the answer to this offered format.
    ///
    /// - Parameter ours: The local level. It is used as it is with level asymmetry; otherwise an answer can only lower
    ///   the offered level.
    /// - Returns: The format.
    func answered(level ours: H264Level) -> H264Format {
        var answer = self
        answer.level = allowsLevelAsymmetry ? ours : min(ours, level)
        return answer
    }

    /// The parameters of the `fmtp` line.
    public var parameters: FormatParameters {
        var parameters: FormatParameters = [:]
        if allowsLevelAsymmetry { parameters["level-asymmetry-allowed"] = "1" }
        parameters["packetization-mode"] = String(packetizationMode)
        parameters["profile-level-id"] = profileLevelID
        return parameters
    }

    /// The value of `profile-level-id`, six hexadecimal digits.
    public var profileLevelID: String {
        [indication, constraints, level.indication]
            .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension UInt32 {
    /// Parses exactly six hexadecimal digits without a sign.
    fileprivate init?(hexadecimal text: String) {
        guard text.utf8.count == 6, text.utf8.first != UInt8(ascii: "+"), text.utf8.first != UInt8(ascii: "-") else {
            return nil
        }
        self.init(text, radix: 16)
    }
}

/// An H.264 profile as in `profile-level-id` (RFC 6184, table 5).
///
/// The order is that of decoders: a decoder of a profile can decode all before it, because streams for WebRTC have
/// neither interlaced frames nor B-frames. Most decoders can decode those after it as well, whatever profiles they
/// offer.
public enum H264Profile: UInt8, Hashable, Comparable, Sendable, CaseIterable {
    /// Constrained Baseline, which includes Baseline: no WebRTC encoder uses the tools that distinguish them.
    case constrainedBaseline
    /// Main.
    case main
    /// Constrained High.
    case constrainedHigh
    /// High.
    case high

    /// Returns whether a profile comes before another in the order of decoders.
    public static func < (left: H264Profile, right: H264Profile) -> Bool { left.rawValue < right.rawValue }

    /// Reads two bytes of `profile-level-id`. Returns nil for an unsupported profile.
    ///
    /// - Parameters:
    ///   - indication: The `profile_idc`.
    ///   - constraints: The byte whose highest bit is `constraint_set0_flag`.
    init?(indication: UInt8, constraints: UInt8) {
        switch (indication, constraints) {
        case (0x42, _): self = .constrainedBaseline
        case (0x4D, _): self = constraints & 0x80 != 0 ? .constrainedBaseline : .main
        case (0x58, _) where constraints & 0xC0 == 0xC0: self = .constrainedBaseline
        case (0x64, _): self = constraints & 0x0C == 0x0C ? .constrainedHigh : .high
        default: return nil
        }
    }
}

/// An H.264 level, which limits resolution and frame rate (ITU-T H.264, table A-1).
public struct H264Level: Hashable, Comparable, Sendable {
    /// The `level_idc`, which is ten times the level number.
    public let indication: UInt8

    /// Creates a level from its `level_idc`.
    public init(indication: UInt8) { self.indication = indication }

    /// Level 1.3: 352x288 at 30 fps.
    public static let level13 = H264Level(indication: 13)
    /// Level 2.1: 352x576 at 25 fps.
    public static let level21 = H264Level(indication: 21)
    /// Level 3: 720x576 at 25 fps.
    public static let level30 = H264Level(indication: 30)
    /// Level 3.1: 1280x720 at 30 fps.
    public static let level31 = H264Level(indication: 31)
    /// Level 3.2: 1280x720 at 60 fps.
    public static let level32 = H264Level(indication: 32)
    /// Level 4: 1920x1080 at 30 fps.
    public static let level40 = H264Level(indication: 40)
    /// Level 4.2: 1920x1080 at 60 fps.
    public static let level42 = H264Level(indication: 42)
    /// Level 5.1: 3840x2160 at 30 fps.
    public static let level51 = H264Level(indication: 51)
    /// Level 5.2: 3840x2160 at 60 fps.
    public static let level52 = H264Level(indication: 52)

    /// Returns whether a level allows less than another.
    public static func < (left: H264Level, right: H264Level) -> Bool { left.indication < right.indication }

    /// The limits of a level.
    private struct Bound {
        let level: H264Level
        let macroblocksPerSecond: Int
        let macroblocks: Int
    }

    /// The limits of the levels above, the lowest first.
    private static let bounds = [
        Bound(level: level13, macroblocksPerSecond: 11_880, macroblocks: 396),
        Bound(level: level21, macroblocksPerSecond: 19_800, macroblocks: 792),
        Bound(level: level30, macroblocksPerSecond: 40_500, macroblocks: 1_620),
        Bound(level: level31, macroblocksPerSecond: 108_000, macroblocks: 3_600),
        Bound(level: level32, macroblocksPerSecond: 216_000, macroblocks: 5_120),
        Bound(level: level40, macroblocksPerSecond: 245_760, macroblocks: 8_192),
        Bound(level: level42, macroblocksPerSecond: 522_240, macroblocks: 8_704),
        Bound(level: level51, macroblocksPerSecond: 983_040, macroblocks: 36_864),
        Bound(level: level52, macroblocksPerSecond: 2_073_600, macroblocks: 36_864),
    ]

    /// Returns the lowest of these levels that allows a resolution and frame rate (in frames per second); nil if none
    /// does.
    public static func lowest(for dimensions: Dimensions, framesPerSecond: Int) -> H264Level? {
        guard (1...16_384).contains(dimensions.width), (1...16_384).contains(dimensions.height) else { return nil }
        guard (1...1_000).contains(framesPerSecond) else { return nil }
        let macroblocks = ((dimensions.width + 15) / 16) * ((dimensions.height + 15) / 16)
        let bound = bounds.first {
            macroblocks <= $0.macroblocks && macroblocks * framesPerSecond <= $0.macroblocksPerSecond
        }
        return bound?.level
    }
}
