import CFFmpeg
public import PCastMedia
import Synchronization

/// The encoders of this machine.
public enum VideoEncoders {
    /// Why each hardware encoder does not work, or nil when it does: found out once, when it is first asked for.
    private static let findings = Mutex<[String: String?]>([:])

    /// All that there could be, those that do not work among them. Tries the hardware encoders, the first time.
    public static func available() -> [VideoEncoderInfo] {
        var infos = [
            VideoEncoderInfo(name: X264Encoder.encoderName, codec: .h264, isHardware: false, reason: softwareReason),
            VideoEncoderInfo(name: VP8Encoder.encoderName, codec: .vp8, isHardware: false, reason: nil),
        ]
        infos += HardwareEncoderModel.all.map { model in
            VideoEncoderInfo(name: model.name, codec: .h264, isHardware: true, reason: reason(model))
        }
        return infos
    }

    /// By which the encoders of a codec are asked for, whether they work on this machine or not. Tries none.
    public static func names(of codec: Codec) -> [String] {
        switch codec {
        case .h264: [X264Encoder.encoderName] + HardwareEncoderModel.all.map(\.name)
        case .vp8: [VP8Encoder.encoderName]
        case .opus: []
        }
    }

    private static var softwareReason: String? {
        avcodec_find_encoder_by_name(X264Encoder.encoderName) == nil ? "FFmpeg was built without it" : nil
    }

    /// Opens an encoder.
    ///
    /// A hardware encoder that was not asked for by name, and fails, is replaced by the software one: when it is
    /// opened, and also while it runs.
    ///
    /// - Parameters:
    ///   - dimensions: both even.
    ///   - frameRate: pictures a second, for the rate control.
    ///   - color: of the frames. VP8 has BT.601 alone, to which frames are converted.
    /// - Throws: `CodecError.unsupported` for an encoder that is not there, or settings that none takes.
    public static func open(
        _ choice: VideoEncoderChoice = .automatic, codec: Codec, dimensions: Dimensions, frameRate: Double,
        bitrate: Bitrate, color: VideoColor = .bt601
    ) throws(CodecError) -> any VideoEncoder {
        func software() throws(CodecError) -> any VideoEncoder {
            switch codec {
            case .h264:
                try X264Encoder(dimensions: dimensions, frameRate: frameRate, bitrate: bitrate, color: color)
            case .vp8: try VP8Encoder(dimensions: dimensions, frameRate: frameRate, bitrate: bitrate)
            case .opus: throw .unsupported("Opus is no codec of pictures")
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
            if name == (codec == .h264 ? X264Encoder.encoderName : VP8Encoder.encoderName) { return try software() }
            guard codec == .h264, let model = HardwareEncoderModel.all.first(where: { $0.name == name }) else {
                throw .unsupported("there is no encoder “\(name)” of \(codec.rawValue)")
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

    private static func reason(_ model: HardwareEncoderModel) -> String? {
        findings.withLock { findings in
            if let known = findings[model.name] { return known }
            let found = HardwareEncoderTrial.failure(of: model)
            findings.updateValue(found, forKey: model.name)
            return found
        }
    }
}

extension VideoEncoderInfo {
    init(name: String, codec: Codec, isHardware: Bool, reason: String?) {
        self.init(name: name, codec: codec, isHardware: isHardware, isUsable: reason == nil, reason: reason)
    }
}
