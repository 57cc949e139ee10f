import PCastCore

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
