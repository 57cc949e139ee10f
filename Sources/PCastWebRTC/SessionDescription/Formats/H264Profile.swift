/// What a `profile-level-id` says about the coding tools of an H.264 stream (RFC 6184, table 5).
///
/// In the order of decoders: one of a profile plays every profile before it, as streams made for WebRTC have neither
/// interlaced nor bidirectional pictures. Most play those after it too, whatever profiles they list.
public enum H264Profile: UInt8, Hashable, Comparable, Sendable, CaseIterable {
    /// Also what is labelled Baseline: no WebRTC encoder uses the tools that would tell the two apart.
    case constrainedBaseline
    case main
    case constrainedHigh
    case high

    public static func < (left: H264Profile, right: H264Profile) -> Bool { left.rawValue < right.rawValue }

    /// - Parameters:
    ///   - indication: `profile_idc`.
    ///   - constraints: the byte with `constraint_set0_flag` as its highest bit.
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
