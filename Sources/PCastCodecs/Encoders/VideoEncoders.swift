import CFFmpeg
public import PCastCore
import Synchronization

/// The video encoders of this machine.
package enum VideoEncoders {
    /// The result of each hardware encoder's test: the reason why it does not work, or nil. Each encoder is tested
    /// once, on first use.
    private static let results = Mutex<[String: String?]>([:])

    /// Returns all known encoders, including those that do not work. The first call tests the hardware encoders.
    package static func available() -> [VideoEncoderInfo] {
        var infos = [
            VideoEncoderInfo(
                name: X264Encoder.encoderName, codec: .h264, isHardware: false,
                reason: softwareReason(X264Encoder.encoderName)),
            VideoEncoderInfo(name: VPXEncoder.name(of: .vp8), codec: .vp8, isHardware: false, reason: nil),
            VideoEncoderInfo(name: VPXEncoder.name(of: .vp9), codec: .vp9, isHardware: false, reason: nil),
            VideoEncoderInfo(
                name: AV1Encoder.encoderName, codec: .av1, isHardware: false,
                reason: softwareReason(AV1Encoder.encoderName)),
        ]
        infos += HardwareEncoderModel.all.map { model in
            VideoEncoderInfo(name: model.name, codec: .h264, isHardware: true, reason: reason(model))
        }
        return infos
    }

    /// Returns the names by which a codec's encoders can be selected, whether they work on this machine or not. It
    /// tests none.
    package static func names(of codec: Codec) -> [String] {
        switch codec {
        case .h264: [X264Encoder.encoderName] + HardwareEncoderModel.all.map(\.name)
        case .vp8, .vp9: [VPXEncoder.name(of: codec)]
        case .av1: [AV1Encoder.encoderName]
        case .h265, .opus: []
        }
    }

    private static func softwareReason(_ name: String) -> String? {
        avcodec_find_encoder_by_name(name) == nil ? "FFmpeg was built without it" : nil
    }

    /// Opens an encoder.
    ///
    /// With the automatic choice, the software encoder replaces a hardware encoder that fails, when it is opened or
    /// while it encodes.
    ///
    /// - Parameters:
    ///   - choice: The encoder to use.
    ///   - codec: The codec of the encoded frames.
    ///   - dimensions: The size of the frames, even numbers.
    ///   - frameRate: The frames per second, for the rate control; 1...1,000.
    ///   - bitrate: The target bitrate.
    ///   - color: The color description of the frames. Those of VP8 and VP9 are converted to BT.601.
    /// - Returns: The open encoder.
    /// - Throws: `CodecError.unsupported` if the encoder is unavailable or no encoder accepts the settings.
    package static func open(
        _ choice: VideoEncoderChoice = .automatic, codec: Codec, dimensions: Dimensions, frameRate: Double,
        bitrate: Bitrate, color: VideoColor = .bt601
    ) throws(CodecError) -> any VideoEncoder {
        func software() throws(CodecError) -> any VideoEncoder {
            switch codec {
            case .h264:
                try X264Encoder(dimensions: dimensions, frameRate: frameRate, bitrate: bitrate, color: color)
            case .vp8, .vp9:
                try VPXEncoder(codec: codec, dimensions: dimensions, frameRate: frameRate, bitrate: bitrate)
            case .av1: try AV1Encoder(dimensions: dimensions, frameRate: frameRate, bitrate: bitrate, color: color)
            case .h265:
                throw .unsupported("H.265 is not encoded here: publish an address with H.265 that has no B-frames")
            case .opus: throw .unsupported("Opus is not a video codec: use h264 or vp8")
            }
        }
        func hardware(_ model: HardwareEncoderModel) throws(CodecError) -> HardwareVideoEncoder {
            if let reason = reason(model) { throw .unsupported("\(model.name) does not work here: \(reason)") }
            return try HardwareVideoEncoder(
                model, dimensions: dimensions, frameRate: frameRate, bitrate: bitrate, color: color)
        }
        switch choice {
        case .software: return try software()
        case .named(let name):
            if names(of: codec).first == name { return try software() }
            guard codec == .h264, let model = HardwareEncoderModel.all.first(where: { $0.name == name }) else {
                throw .unsupported("there is no encoder “\(name)” for \(codec.rawValue)")
            }
            return try hardware(model)
        case .automatic:
            guard codec == .h264 else { return try software() }
            for model in HardwareEncoderModel.all {
                guard let first = try? hardware(model) else { continue }
                return ReplaceableVideoEncoder(first, bitrate: bitrate) { bitrate throws(CodecError) in
                    try X264Encoder(dimensions: dimensions, frameRate: frameRate, bitrate: bitrate, color: color)
                }
            }
            return try software()
        }
    }

    /// Tests the hardware encoders in the order of preference until one works, so that the first call of ``open`` with the
    /// automatic choice need not. It may be called on another thread. `open` waits until it has returned.
    package static func prepare() {
        for model in HardwareEncoderModel.all where reason(model) == nil { return }
    }

    private static func reason(_ model: HardwareEncoderModel) -> String? {
        results.withLock { results in
            if let known = results[model.name] { return known }
            let found = HardwareEncoderTrial.failure(of: model)
            results.updateValue(found, forKey: model.name)
            return found
        }
    }
}

extension VideoEncoderInfo {
    init(name: String, codec: Codec, isHardware: Bool, reason: String?) {
        self.init(name: name, codec: codec, isHardware: isHardware, isUsable: reason == nil, reason: reason)
    }
}

/// An encoder, and whether it works on this machine.
public struct VideoEncoderInfo: Hashable, Sendable {
    /// FFmpeg's name of the encoder, such as `h264_vaapi`.
    public let name: String
    /// The codec that it encodes to.
    public let codec: Codec
    /// Whether it is a hardware encoder.
    public let isHardware: Bool
    /// Whether a test opened it and received key frames with parameter sets.
    public let isUsable: Bool
    /// The reason why it is not usable, for display; nil if it is.
    public let reason: String?
    /// The speeds that were measured, by size in ascending order; empty if it was not measured. Those above the first size
    /// that is not encoded in real time are left out.
    public internal(set) var speeds: [VideoEncodingSpeed] = []
}

/// The choice of a video encoder.
public enum VideoEncoderChoice: Hashable, Sendable {
    /// A hardware encoder if one works, otherwise the software encoder.
    case automatic
    /// The software encoder, libx264 or libvpx.
    case software
    /// The encoder with this FFmpeg name, such as `h264_vaapi`.
    case named(String)

    /// Creates a choice from the text `automatic`, `software` or an encoder's name.
    public init(_ text: String) {
        switch text {
        case "automatic": self = .automatic
        case "software": self = .software
        default: self = .named(text)
        }
    }
}

/// A test of a hardware encoder with real frames. An encoder that opens does not necessarily work.
enum HardwareEncoderTrial {
    /// The size of the test frames. It exceeds the minimum of all hardware encoders.
    private static let dimensions = Dimensions(width: 640, height: 360)

    /// The number of test frames. The first and the forced one must come out as key frames.
    private static let frameCount = 8
    private static let forced = 4

    /// Returns the reason why the encoder does not work; nil if it works.
    static func failure(of model: HardwareEncoderModel) -> String? {
        do throws(CodecError) {
            let encoder = try HardwareVideoEncoder(
                model, dimensions: dimensions, frameRate: 30, bitrate: .kilobits(1_000))
            return try failure(of: encoder)
        } catch {
            switch error {
            case .unsupported(let reason), .failed(_, let reason): return reason
            case .missing: return "FFmpeg was built without it"
            default: return "\(error)"
            }
        }
    }

    static func failure(of encoder: any VideoEncoder) throws(CodecError) -> String? {
        let pool = VideoFramePool()
        var frames: [EncodedFrame] = []
        for number in 0..<frameCount {
            let frame = pool.frame(
                dimensions: dimensions, captureTime: nil, timestamp: MediaTime(ticks: Int64(number), rate: .video))
            frame.memory.initializeMemory(as: UInt8.self, repeating: UInt8(100 + number))
            frames += try encoder.encode(frame, forceKeyFrame: number == 0 || number == forced)
        }
        guard let first = frames.first, first.timestamp.ticks == 0 else { return "its first frame is not a key frame" }
        // Frames that the encoder still holds come out with later ones.
        let isHonored = frames.contains { $0.isKeyFrame && $0.timestamp.ticks == Int64(forced) }
        guard isHonored || frames.count <= forced else { return "it does not encode a key frame on request" }
        guard frames.count > 1 else { return "it delays too many frames" }
        return nil
    }
}

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
