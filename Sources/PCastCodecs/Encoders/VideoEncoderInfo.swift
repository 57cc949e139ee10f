public import PCastCore

/// An encoder, and whether it works on this machine.
public struct VideoEncoderInfo: Hashable, Sendable {
    /// FFmpeg's name of the encoder, such as `h264_vaapi`.
    public let name: String
    /// The codec that it encodes to.
    public let codec: Codec
    /// Whether it is a hardware encoder.
    public let isHardware: Bool
    /// Whether a test opened it and received key frames with parameter sets.
    public let isUsable: Bool
    /// The reason why it is not usable, for display; nil if it is.
    public let reason: String?
}
