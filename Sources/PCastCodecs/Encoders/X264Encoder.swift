import CFFmpeg
package import PCastCore

/// An H.264 encoder (libx264): constrained baseline profile, no delay, no B-frames, key frames on request, each with
/// parameter sets.
///
/// The rate-control buffer is set when it opens, because libx264 ignores later bitrate changes without one.
package final class X264Encoder: VideoEncoder {
    /// The name of the encoder, `libx264`.
    package let name = X264Encoder.encoderName
    static let encoderName = "libx264"

    private let encoder: AVVideoEncoder
    private let videoFrame = AVFrameHolder()
    private let dimensions: Dimensions
    private let color: VideoColor
    private let matrices = MatrixConverter()

    /// Opens the encoder.
    ///
    /// - Parameters:
    ///   - dimensions: The size of the frames, even numbers.
    ///   - frameRate: The frames per second, for the rate control; 1...1,000.
    ///   - bitrate: The target bitrate.
    ///   - color: The color description of the frames, which is written to the VUI.
    /// - Throws: `CodecError.unsupported` for an odd size, `CodecError.missing` without libx264.
    package init(
        dimensions: Dimensions, frameRate: Double, bitrate: Bitrate, color: VideoColor = .bt601
    ) throws(CodecError) {
        guard let codec = avcodec_find_encoder_by_name(Self.encoderName) else { throw .missing(Self.encoderName) }
        (self.dimensions, self.color) = (dimensions, color)
        let context = AVCodecContextHolder(codec)
        try AVVideoEncoder.describe(
            context.pointer, dimensions: dimensions, frameRate: frameRate, bitrate: bitrate, color: color)
        try context.open(
            codec,
            [
                "preset": "superfast", "tune": "zerolatency", "profile": "baseline", "forced-idr": "1",
                "x264-params": "scenecut=0:repeat-headers=1:annexb=1:aud=0:sliced-threads=0",
            ])
        encoder = AVVideoEncoder(context)
    }

    /// Changes the bitrate while encoding.
    package func setBitrate(_ bitrate: Bitrate) throws(CodecError) { encoder.setBitrate(bitrate) }

    /// Encodes a frame. Throws `CodecError.unsupported` for a frame of another size, or `CodecError.failed`.
    package func encode(_ frame: VideoFrame, forceKeyFrame: Bool) throws(CodecError) -> [EncodedFrame] {
        guard frame.dimensions == dimensions else {
            throw .unsupported("the encoder was opened for \(dimensions), not \(frame.dimensions)")
        }
        // The VUI is written once, so all frames are converted to its matrix.
        let frame = matrices.convert(frame, to: color.matrix)
        videoFrame.reference(frame)
        defer { videoFrame.clear() }
        return try encoder.encode(videoFrame.pointer, of: frame, forceKeyFrame: forceKeyFrame)
    }
}
