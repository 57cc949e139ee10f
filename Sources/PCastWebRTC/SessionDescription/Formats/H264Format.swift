/// The parameters that tell one H.264 payload format from another (RFC 6184, section 8.1).
public struct H264Format: Hashable, Sendable {
    /// The coding tools.
    public var profile: H264Profile
    /// How large and fast the pictures may be.
    public var level: H264Level
    /// 1 allows FU-A and STAP-A; 0, which also a missing parameter means, only whole NAL units in a packet.
    public var packetizationMode: UInt8
    /// Each direction may use a level of its own (`level-asymmetry-allowed=1`).
    public var allowsLevelAsymmetry: Bool
    /// `profile_idc` and the constraint flags as the peer wrote them: an answer keeps them (RFC 6184, section 8.2.2).
    private var indication: UInt8
    private var constraints: UInt8

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

    /// Nil for a profile that no WebRTC peer needs, such as High 4:4:4, and for a packetization mode above 1.
    public init?(parameters: FormatParameters) {
        // Without the parameter the profile is Baseline at level 1 (RFC 6184, section 8.1).
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

    /// The preferred kind: what every browser decodes, in packets of any size.
    var isConstrainedBaselineInFragments: Bool { profile == .constrainedBaseline && packetizationMode == 1 }

    /// Whether a receiver of this format can be sent `stream`.
    ///
    /// The profile does not decide: browsers list Baseline and decode High, and relays send High to whoever takes H.264.
    /// Levels are compared apart: a peer that allows asymmetry says nothing of its decoder's limit by the level it offers.
    /// A receiver of whole NAL units cannot put fragments together (RFC 6184, section 6.2).
    func plays(_ stream: H264Format) -> Bool { packetizationMode >= stream.packetizationMode }

    /// Our `fmtp` for this offered format.
    ///
    /// With asymmetry the level is our own; without it both sides use one, which an answer may only lower.
    func answered(level ours: H264Level) -> H264Format {
        var answer = self
        answer.level = allowsLevelAsymmetry ? ours : min(ours, level)
        return answer
    }

    /// The format's `fmtp`.
    public var parameters: FormatParameters {
        var parameters: FormatParameters = [:]
        if allowsLevelAsymmetry { parameters["level-asymmetry-allowed"] = "1" }
        parameters["packetization-mode"] = String(packetizationMode)
        parameters["profile-level-id"] = profileLevelID
        return parameters
    }

    /// Six hexadecimal digits.
    public var profileLevelID: String {
        [indication, constraints, level.indication]
            .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension UInt32 {
    /// Six hexadecimal digits, no more and no sign.
    fileprivate init?(hexadecimal text: String) {
        guard text.utf8.count == 6, text.utf8.first != UInt8(ascii: "+"), text.utf8.first != UInt8(ascii: "-") else {
            return nil
        }
        self.init(text, radix: 16)
    }
}
