public import PCastCore

/// The parameters that distinguish payload formats of VP9 (RFC 9628, section 6), AV1 (AV1 RTP payload format, section
/// 7.2) and H.265 (RFC 7798, section 7.1).
public struct VideoProfile: Hashable, Sendable {
    /// The profile: `profile-id` of VP9 and H.265, `profile` of AV1.
    public var profile: UInt8
    /// The tier of AV1 (`tier`) and H.265 (`tier-flag`): 0 or 1; 0 for VP9.
    public var tier: UInt8
    /// The level of AV1 (`level-idx`) and H.265 (`level-id`); 0 for VP9.
    public var level: UInt8

    /// The profiles that are supported: 8 and 10 bits with 4:2:0, and all of AV1.
    private static func profiles(of codec: Codec) -> Set<UInt8> {
        switch codec {
        case .vp9: [0, 2]
        case .av1: [0, 1, 2]
        case .h265: [1, 2]
        case .h264, .vp8, .opus: []
        }
    }

    /// Creates the parameters of a codec's main profile with the default level.
    ///
    /// - Parameter codec: VP9, AV1 or H.265.
    public init?(mainOf codec: Codec) { self.init(codec, parameters: [:]) }

    /// Reads the parameters of an `fmtp` line. Returns nil for another codec, an unsupported profile, and for H.265
    /// in an unsupported order of packets: several streams of packets (`tx-mode`), or an order other than that of
    /// decoding (`sprop-max-don-diff`).
    init?(_ codec: Codec, parameters: FormatParameters) {
        func number(_ name: String, default value: UInt8) -> UInt8? {
            parameters[name].map { UInt8($0) } ?? value
        }
        switch codec {
        case .vp9:
            guard let profile = number("profile-id", default: 0) else { return nil }
            (self.profile, tier, level) = (profile, 0, 0)
        case .av1:
            guard let profile = number("profile", default: 0), let tier = number("tier", default: 0),
                let level = number("level-idx", default: 5)
            else { return nil }
            (self.profile, self.tier, self.level) = (profile, tier, level)
        case .h265:
            guard let profile = number("profile-id", default: 1), let tier = number("tier-flag", default: 0),
                let level = number("level-id", default: 93), number("profile-space", default: 0) == 0,
                number("sprop-max-don-diff", default: 0) == 0, parameters["tx-mode"] ?? "SRST" == "SRST"
            else { return nil }
            (self.profile, self.tier, self.level) = (profile, tier, level)
        case .h264, .vp8, .opus: return nil
        }
        guard Self.profiles(of: codec).contains(profile), tier <= 1 else { return nil }
    }

    /// Returns whether a receiver of this format can receive a stream of the same codec: it has the profile of the
    /// stream, or one that includes it. Levels do not count, because they describe what the receiver decodes in real
    /// time at most, and media servers forward to all receivers of a codec.
    func plays(_ stream: VideoProfile, codec: Codec) -> Bool {
        codec == .vp9 ? profile == stream.profile : profile >= stream.profile
    }

    /// Returns the parameters of the `fmtp` line.
    func parameters(of codec: Codec) -> FormatParameters {
        switch codec {
        case .vp9: ["profile-id": String(profile)]
        case .av1: ["level-idx": String(level), "profile": String(profile), "tier": String(tier)]
        case .h265:
            [
                "level-id": String(level), "profile-id": String(profile), "tier-flag": String(tier), "tx-mode": "SRST",
            ]
        case .h264, .vp8, .opus: [:]
        }
    }
}
