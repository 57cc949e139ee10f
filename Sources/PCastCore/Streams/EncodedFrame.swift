/// An encoded video frame, or one packet of audio.
public struct EncodedFrame: Sendable {
    /// The codec of the frame.
    public var codec: Codec

    /// The encoded data. H.264: an access unit in Annex B format with parameter sets before each IDR picture. VP8: one
    /// frame. Opus: one packet.
    public var bytes: [UInt8]

    /// Whether the frame can be decoded without an earlier one. It is always true for Opus.
    public var isKeyFrame: Bool

    /// The time in the track.
    public var timestamp: MediaTime

    /// The UTC time of capture; nil if unknown.
    public var captureTime: WallTime?

    /// Creates a frame from its properties.
    public init(codec: Codec, bytes: [UInt8], isKeyFrame: Bool, timestamp: MediaTime, captureTime: WallTime?) {
        self.codec = codec
        self.bytes = bytes
        self.isKeyFrame = isKeyFrame
        self.timestamp = timestamp
        self.captureTime = captureTime
    }
}
