import CFFmpeg
import PCastCore

/// An AV1 encoder (libaom in its realtime mode): the profile Main, no delay, one thread, key frames on request, each with a
/// sequence header. A frame of 720p takes about 13 ms. SVT-AV1 1.4 of Debian 12 delays frames.
///
/// libavcodec's wrapper ignores changes of the bit rate, so that the encoder is opened again for one: with a requested key
/// frame, or at once if it falls steeply.
final class AV1Encoder: VideoEncoder {
    let name = AV1Encoder.encoderName
    static let encoderName = "libaom-av1"

    private let dimensions: Dimensions
    private let frameRate: Double
    private let color: VideoColor
    private var encoder: AVVideoEncoder
    private var bitrate: Bitrate
    /// The bit rate of the open encoder.
    private var bitrateInForce: Bitrate
    private let videoFrame = AVFrameHolder()
    private let matrices = MatrixConverter()

    /// The percentage of the current bit rate below which the encoder is opened again at once.
    private static let steepFall: Int64 = 75

    /// Opens the encoder. Throws `CodecError.unsupported` for an odd size, `CodecError.missing` without libaom.
    init(
        dimensions: Dimensions, frameRate: Double, bitrate: Bitrate, color: VideoColor = .bt601
    ) throws(CodecError) {
        (self.dimensions, self.frameRate, self.color) = (dimensions, frameRate, color)
        (self.bitrate, bitrateInForce) = (bitrate, bitrate)
        encoder = try Self.open(dimensions, frameRate, bitrate, color)
    }

    private static func open(
        _ dimensions: Dimensions, _ frameRate: Double, _ bitrate: Bitrate, _ color: VideoColor
    ) throws(CodecError) -> AVVideoEncoder {
        guard let codec = avcodec_find_encoder_by_name(encoderName) else { throw .missing(encoderName) }
        let context = AVCodecContextHolder(codec)
        // libaom's unit is kbit/s, in 32 bits.
        let limited = Bitrate(bitsPerSecond: min(bitrate.bitsPerSecond, 1_000_000_000))
        try AVVideoEncoder.describe(
            context.pointer, dimensions: dimensions, frameRate: frameRate, bitrate: limited, color: color,
            profile: FF_PROFILE_AV1_MAIN)
        // Equal limits select a constant bit rate.
        context.pointer.pointee.rc_min_rate = context.pointer.pointee.bit_rate
        try context.open(
            codec, ["usage": "realtime", "cpu-used": "8", "lag-in-frames": "0", "aom-params": "cpu-used=10"])
        return AVVideoEncoder(context, codec: .av1)
    }

    func setBitrate(_ bitrate: Bitrate) throws(CodecError) { self.bitrate = bitrate }

    func encode(_ frame: VideoFrame, forceKeyFrame: Bool) throws(CodecError) -> [EncodedFrame] {
        guard frame.dimensions == dimensions else {
            throw .unsupported("the encoder was opened for \(dimensions), not \(frame.dimensions)")
        }
        let isSteep = bitrate.bitsPerSecond < bitrateInForce.bitsPerSecond / 100 * Self.steepFall
        if bitrate != bitrateInForce, forceKeyFrame || isSteep {
            encoder = try Self.open(dimensions, frameRate, bitrate, color)
            bitrateInForce = bitrate
        }
        let frame = matrices.convert(frame, to: color.matrix)
        videoFrame.reference(frame)
        defer { videoFrame.clear() }
        return try encoder.encode(videoFrame.pointer, of: frame, forceKeyFrame: forceKeyFrame)
    }
}
