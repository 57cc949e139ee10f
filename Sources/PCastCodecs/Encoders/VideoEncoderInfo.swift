public import PCastMedia

/// An encoder, and whether it works on this machine.
public struct VideoEncoderInfo: Hashable, Sendable {
    /// FFmpeg's name of it, such as `h264_vaapi`.
    public let name: String
    public let codec: Codec
    public let isHardware: Bool
    /// It was opened and made a key frame with its parameter sets.
    public let isUsable: Bool
    /// Why it is not usable, for people; nil when it is.
    public let reason: String?
}
