/// A codec of media on the network.
public enum Codec: String, Sendable, CaseIterable {
    case h264 = "H264"
    case vp8 = "VP8"
    case vp9 = "VP9"
    case av1 = "AV1"
    case h265 = "H265"
    case opus

    /// Audio for Opus, video for the others.
    public var mediaType: MediaType { self == .opus ? .audio : .video }
    /// The RTP clock rate: 48 kHz for Opus, 90 kHz for the others.
    public var clockRate: ClockRate { self == .opus ? .opus : .video }
}

/// The kind of media (Phenix: `PhenixMediaType`).
public enum MediaType: String, Sendable, CaseIterable, Encodable {
    case video
    case audio
}

/// A bit rate in bits per second.
public struct Bitrate: Hashable, Comparable, Sendable, BitwiseCopyable {
    /// The number of bits per second.
    public var bitsPerSecond: Int64

    /// Creates a bit rate from a number of bits per second.
    public init(bitsPerSecond: Int64) { self.bitsPerSecond = bitsPerSecond }

    /// Returns a bit rate of a number of kilobits (1,000 bits) per second.
    public static func kilobits(_ count: Int64) -> Bitrate { Bitrate(bitsPerSecond: count * 1_000) }

    /// Returns whether the left bit rate is lower.
    public static func < (left: Bitrate, right: Bitrate) -> Bool { left.bitsPerSecond < right.bitsPerSecond }
}
