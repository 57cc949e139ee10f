package import PCastCore

/// The format of a stream that is forwarded without transcoding.
package struct SourceFormat: Hashable, Sendable {
    /// The codec of the stream.
    package var codec: Codec
    /// The H.264 parameters, which a receiver must support; nil for other codecs.
    package var h264: H264Format?

    /// Creates a format.
    package init(codec: Codec, h264: H264Format? = nil) {
        self.codec = codec
        self.h264 = h264
    }

    /// VP8.
    package static let vp8 = SourceFormat(codec: .vp8)
    /// Opus.
    package static let opus = SourceFormat(codec: .opus)

    /// Returns the format of an H.264 stream.
    package static func h264(_ format: H264Format) -> SourceFormat { SourceFormat(codec: .h264, h264: format) }

    /// Returns whether a receiver of a payload format can receive the stream.
    func isPlayed(by format: PayloadFormat) -> Bool {
        guard codec == format.codec else { return false }
        guard let stream = h264, let offered = format.h264 else { return true }
        return offered.plays(stream)
    }
}
