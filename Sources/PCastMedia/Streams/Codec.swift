/// A codec that media crosses the network in.
public enum Codec: String, Sendable, CaseIterable {
    case h264 = "H264"
    case vp8 = "VP8"
    case opus

    public var mediaType: MediaType { self == .opus ? .audio : .video }
    public var clockRate: ClockRate { self == .opus ? .opus : .video }
}
