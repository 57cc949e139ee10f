import CFFmpeg
public import PCastMedia

/// H.264 by libx264: constrained baseline, no delay, no B-frames, key frames when asked for, parameter sets before
/// each.
///
/// The rate control's window is set when it opens, so that later changes of the rate are obeyed (COD2).
public final class X264Encoder: VideoEncoder {
    public let name = X264Encoder.encoderName
    static let encoderName = "libx264"

    private let encoder: AVVideoEncoder
    private let picture = AVFrameHolder()
    private let dimensions: Dimensions
    private let color: VideoColor
    private let matrices = MatrixConverter()

    /// - Parameters:
    ///   - dimensions: both even.
    ///   - frameRate: pictures a second, for the rate control.
    ///   - color: of the frames, declared in the VUI.
    /// - Throws: `CodecError.unsupported` for an odd size, `CodecError.missing` without libx264.
    public init(
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

    public func setBitrate(_ bitrate: Bitrate) throws(CodecError) { encoder.setBitrate(bitrate) }

    public func encode(_ frame: VideoFrame, forceKeyFrame: Bool) throws(CodecError) -> [EncodedFrame] {
        guard frame.dimensions == dimensions else {
            throw .unsupported("the encoder was opened for \(dimensions), not \(frame.dimensions)")
        }
        // What is declared when it is opened holds for all frames.
        let frame = matrices.convert(frame, to: color.matrix)
        picture.lend(frame)
        defer { picture.clear() }
        return try encoder.encode(picture.pointer, of: frame, forceKeyFrame: forceKeyFrame)
    }
}
