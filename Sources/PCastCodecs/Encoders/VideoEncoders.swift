import CFFmpeg
package import PCastCore
import Synchronization

/// The video encoders of this machine.
package enum VideoEncoders {
    /// The result of each hardware encoder's test: the reason why it does not work, or nil. Each encoder is tested
    /// once, on first use.
    private static let findings = Mutex<[String: String?]>([:])

    /// Returns all known encoders, including those that do not work. The first call tests the hardware encoders.
    package static func available() -> [VideoEncoderInfo] {
        var infos = [
            VideoEncoderInfo(name: X264Encoder.encoderName, codec: .h264, isHardware: false, reason: softwareReason),
            VideoEncoderInfo(name: VP8Encoder.encoderName, codec: .vp8, isHardware: false, reason: nil),
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
        case .vp8: [VP8Encoder.encoderName]
        case .opus: []
        }
    }

    private static var softwareReason: String? {
        avcodec_find_encoder_by_name(X264Encoder.encoderName) == nil ? "FFmpeg was built without it" : nil
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
    ///   - color: The color description of the frames. VP8 supports only BT.601, to which frames are converted.
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
            case .vp8: try VP8Encoder(dimensions: dimensions, frameRate: frameRate, bitrate: bitrate)
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
            if name == (codec == .h264 ? X264Encoder.encoderName : VP8Encoder.encoderName) { return try software() }
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
