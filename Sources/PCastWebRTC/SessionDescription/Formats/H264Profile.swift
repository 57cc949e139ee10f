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
