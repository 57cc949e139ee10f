/// An H.264 profile as in a sequence parameter set (ITU-T H.264, annex A).
package struct H264ProfileIDC: Hashable, Sendable, CustomStringConvertible {
    /// The value of `profile_idc`.
    package let number: UInt8
    /// The six constraint flags, with `constraint_set0_flag` as the highest bit, and two reserved bits.
    package let constraints: UInt8

    /// Creates a profile from `profile_idc` and the byte of constraint flags.
    package init(number: UInt8, constraints: UInt8) {
        self.number = number
        self.constraints = constraints
    }

    /// Whether WebRTC receivers decode it: 4:2:0 with 8 bits, without data partitioning.
    package var isWidelyDecodable: Bool { [66, 77, 100].contains(number) }

    /// The name of the profile, such as `constrained baseline`.
    package var description: String {
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
