/// A codec of media on the network.
public enum Codec: String, Sendable, CaseIterable {
    case h264 = "H264"
    case vp8 = "VP8"
    case opus

    /// Audio for Opus, video for the others.
    public var mediaType: MediaType { self == .opus ? .audio : .video }
    /// The RTP clock rate: 48 kHz for Opus, 90 kHz for the others.
    public var clockRate: ClockRate { self == .opus ? .opus : .video }
}
