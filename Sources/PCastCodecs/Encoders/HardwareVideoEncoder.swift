import CFFmpeg
import PCastMedia

/// H.264 by a hardware encoder of FFmpeg's.
///
/// Whatever the driver does, what comes out begins with an IDR picture and has parameter sets before each (COD3, COD4).
final class HardwareVideoEncoder: VideoEncoder {
    var name: String { model.name }

    private let model: HardwareEncoderModel
    private let dimensions: Dimensions
    private let frameRate: Double
    private var bitrate: Bitrate
    private var opened: (encoder: AVVideoEncoder, surface: HardwareSurface)
    private let color: VideoColor
    private var passThrough: H264PassThrough
    /// Of what is open, when it differs from what was asked for since.
    private var bitrateInForce: Bitrate

    /// An encoder that is opened again makes a key frame, which is dear; when the rate falls below so many percent of
    /// what is in force, it cannot wait for one that is asked for.
    private static let steepFall: Int64 = 75

    /// - Throws: `CodecError` when it is not there, or refuses these pictures.
    init(
        _ model: HardwareEncoderModel, dimensions: Dimensions, frameRate: Double, bitrate: Bitrate,
        color: VideoColor = .bt601
    ) throws(CodecError) {
        self.model = model
        self.color = color
        // Not every driver writes what it is told of colours.
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
        guard model.obeysRate else { return }
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
        let picture = try opened.surface.hand(over: frame)
        let encoded = try opened.encoder.encode(picture, of: frame, forceKeyFrame: forceKeyFrame)
        var frames: [EncodedFrame] = []
        for coded in encoded {
            do throws(PassThroughObstacle) {
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
