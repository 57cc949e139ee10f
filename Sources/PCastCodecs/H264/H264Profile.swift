/// A profile of H.264 as a sequence parameter set names it (ITU-T H.264, annex A).
public struct H264Profile: Hashable, Sendable, CustomStringConvertible {
    /// `profile_idc`.
    public let number: UInt8
    /// The six constraint flags, `constraint_set0_flag` in the highest bit, and two reserved bits.
    public let constraints: UInt8

    public init(number: UInt8, constraints: UInt8) {
        self.number = number
        self.constraints = constraints
    }

    /// Whether the receivers of WebRTC decode it: 4:2:0 in 8 bits, without data partitioning.
    public var isWidelyDecodable: Bool { [66, 77, 100].contains(number) }

    public var description: String {
        switch number {
        case 66: constraints & 0x40 != 0 ? "constrained baseline" : "baseline"
        case 77: "main"
        case 88: "extended"
        case 100: constraints & 0x0C == 0x0C ? "constrained high" : "high"
        case 110: "high 10"
        case 122: "high 4:2:2"
        case 244: "high 4:4:4 predictive"
        default: "profile \(number)"
        }
    }
}
