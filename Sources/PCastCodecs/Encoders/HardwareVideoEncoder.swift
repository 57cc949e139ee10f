import CFFmpeg
import PCastCore

/// An H.264 hardware encoder of FFmpeg.
///
/// Its output is filtered: it starts with an IDR frame, and every key frame contains parameter sets, whatever the
/// driver does. Some drivers send parameter sets only once, or none with forced key frames.
final class HardwareVideoEncoder: VideoEncoder {
    var name: String { model.name }

    private let model: HardwareEncoderModel
    private let dimensions: Dimensions
    private let frameRate: Double
    private var bitrate: Bitrate
    private var opened: (encoder: AVVideoEncoder, surface: HardwareSurface)
    private let color: VideoColor
    private var passThrough: H264PassThrough
    /// The bitrate of the open encoder, if it differs from the requested one.
    private var bitrateInForce: Bitrate

    /// The percentage of the current bitrate below which the encoder is reopened at once. Reopening makes a key frame,
    /// which is large, so smaller changes wait for a requested key frame.
    private static let steepFall: Int64 = 75

    /// Opens the encoder. Throws `CodecError` if it is unavailable or rejects the settings.
    init(
        _ model: HardwareEncoderModel, dimensions: Dimensions, frameRate: Double, bitrate: Bitrate,
        color: VideoColor = .bt601
    ) throws(CodecError) {
        self.model = model
        self.color = color
        // Some drivers do not write the color description to the bitstream.
        passThrough = H264PassThrough(color: color)
        self.dimensions = dimensions
        self.frameRate = frameRate
        self.bitrate = bitrate
        bitrateInForce = bitrate
        opened = try Self.open(model, dimensions: dimensions, frameRate: frameRate, bitrate: bitrate, color: color)
    }

    private static func open(
        _ model: HardwareEncoderModel, dimensions: Dimensions, frameRate: Double, bitrate: Bitrate, color: VideoColor
    ) throws(CodecError) -> (AVVideoEncoder, HardwareSurface) {
        guard let codec = avcodec_find_encoder_by_name(model.name) else { throw .missing(model.name) }
        let surfaces: [HardwareEncoderModel.Surface]
        switch model.surfaces() {
        case .success(let found): surfaces = found
        case .failure(let absence): throw .unsupported(absence.reason)
        }
        var failure = CodecError.missing(model.name)
        for surface in surfaces {
            for variant in model.variants {
                do throws(CodecError) {
                    let context = AVCodecContextHolder(codec)
                    try AVVideoEncoder.describe(
                        context.pointer, dimensions: dimensions, frameRate: frameRate, bitrate: bitrate, color: color)
                    let surface = try HardwareSurface(surface, for: context.pointer)
                    try context.open(codec, variant)
                    return (AVVideoEncoder(context), surface)
                } catch {
                    failure = error
                }
            }
        }
        throw failure
    }

    func setBitrate(_ bitrate: Bitrate) throws(CodecError) {
        self.bitrate = bitrate
        guard model.supportsRateChange else { return }
        opened.encoder.setBitrate(bitrate)
        bitrateInForce = bitrate
    }

    func encode(_ frame: VideoFrame, forceKeyFrame: Bool) throws(CodecError) -> [EncodedFrame] {
        guard frame.dimensions == dimensions else {
            throw .unsupported("the encoder was opened for \(dimensions), not \(frame.dimensions)")
        }
        let isSteep = bitrate.bitsPerSecond < bitrateInForce.bitsPerSecond / 100 * Self.steepFall
        if bitrate != bitrateInForce, forceKeyFrame || isSteep {
            opened = try Self.open(
                model, dimensions: dimensions, frameRate: frameRate, bitrate: bitrate, color: color)
            bitrateInForce = bitrate
        }
        let videoFrame = try opened.surface.transfer(over: frame)
        let encoded = try opened.encoder.encode(videoFrame, of: frame, forceKeyFrame: forceKeyFrame)
        var frames: [EncodedFrame] = []
        for coded in encoded {
            do throws(TranscodeReason) {
                let passed = try passThrough.pass(
                    coded.bytes, timestamp: coded.timestamp, captureTime: coded.captureTime)
                if let passed { frames.append(passed) }
            } catch {
                throw .failed("encoding by \(name)", reason: "\(error)")
            }
        }
        return frames
    }
}
