/// One coded picture, or one packet of sound.
public struct EncodedFrame: Sendable {
    public var codec: Codec

    /// H.264: an access unit in Annex B, parameter sets before each IDR. VP8: one frame. Opus: one packet.
    public var bytes: [UInt8]

    /// Decodable without anything before it. Always true for Opus.
    public var isKeyFrame: Bool

    public var timestamp: MediaTime

    /// When it was captured, UTC; nil when nobody knows.
    public var captureTime: WallTime?

    public init(codec: Codec, bytes: [UInt8], isKeyFrame: Bool, timestamp: MediaTime, captureTime: WallTime?) {
        self.codec = codec
        self.bytes = bytes
        self.isKeyFrame = isKeyFrame
        self.timestamp = timestamp
        self.captureTime = captureTime
    }
}
