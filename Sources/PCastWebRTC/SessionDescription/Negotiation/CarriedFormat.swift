public import PCastMedia

/// The format of a stream that is sent as it is, without transcoding.
public struct CarriedFormat: Hashable, Sendable {
    /// The stream's codec.
    public var codec: Codec
    /// For `Codec.h264`: what a receiver has to play.
    public var h264: H264Format?

    public init(codec: Codec, h264: H264Format? = nil) {
        self.codec = codec
        self.h264 = h264
    }

    /// VP8.
    public static let vp8 = CarriedFormat(codec: .vp8)
    /// Opus.
    public static let opus = CarriedFormat(codec: .opus)

    /// H.264 of that profile, level and packetization.
    public static func h264(_ format: H264Format) -> CarriedFormat { CarriedFormat(codec: .h264, h264: format) }

    func isPlayed(by format: PayloadFormat) -> Bool {
        guard codec == format.codec else { return false }
        guard let stream = h264, let offered = format.h264 else { return true }
        return offered.plays(stream)
    }
}
