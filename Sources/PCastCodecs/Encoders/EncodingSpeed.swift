public import PCastCore

/// The speed of a video encoder on this machine, measured at one size of frames.
public struct VideoEncodingSpeed: Hashable, Sendable {
    /// The size of the frames.
    public let dimensions: Dimensions
    /// The number of frames that it encodes per second, without key frames, while it encodes nothing else.
    public let framesPerSecond: Double

    /// Whether it encodes 30 frames per second in real time.
    public var isRealTime: Bool { framesPerSecond >= 30 }
}

extension VideoEncoderInfo {
    /// The largest measured size at which the encoder encodes 30 frames per second in real time; nil if there is none, or
    /// if nothing was measured.
    public var realTimeDimensions: Dimensions? { speeds.last { $0.isRealTime }?.dimensions }
}

extension VideoEncoders {
    /// Returns all known encoders with the speeds of those that work. This takes up to some seconds.
    package static func measured() -> [VideoEncoderInfo] {
        available().map { info in
            guard info.isUsable else { return info }
            var info = info
            info.speeds = EncodingTrial.speeds(of: info)
            return info
        }
    }
}

/// A measurement of an encoder with frames that move and have some noise, as those of a camera.
private enum EncodingTrial {
    /// The sizes and bit rates, in ascending order.
    private static let sizes: [(dimensions: Dimensions, bitrate: Bitrate)] = [
        (Dimensions(width: 640, height: 360), .kilobits(800)),
        (Dimensions(width: 1280, height: 720), .kilobits(2_500)),
        (Dimensions(width: 1920, height: 1080), .kilobits(4_500)),
    ]
    /// The time for which frames of one size are encoded.
    private static let duration = Duration.milliseconds(300)
    private static let frameCounts = 3...60

    /// Returns the speeds by size. Sizes above the first one that is not encoded in real time are not measured.
    static func speeds(of info: VideoEncoderInfo) -> [VideoEncodingSpeed] {
        var speeds: [VideoEncodingSpeed] = []
        for (dimensions, bitrate) in sizes {
            guard let rate = try? framesPerSecond(info, dimensions, bitrate) else { break }
            let speed = VideoEncodingSpeed(dimensions: dimensions, framesPerSecond: rate)
            speeds.append(speed)
            guard speed.isRealTime else { break }
        }
        return speeds
    }

    private static func framesPerSecond(
        _ info: VideoEncoderInfo, _ dimensions: Dimensions, _ bitrate: Bitrate
    ) throws(CodecError) -> Double {
        let encoder = try VideoEncoders.open(
            .named(info.name), codec: info.codec, dimensions: dimensions, frameRate: 30, bitrate: bitrate)
        let pool = VideoFramePool()
        _ = try encoder.encode(frame(0, dimensions, pool), forceKeyFrame: true)
        var (elapsed, count) = (Duration.zero, 0)
        while count < frameCounts.upperBound, count < frameCounts.lowerBound || elapsed < duration {
            count += 1
            let frame = Self.frame(count, dimensions, pool)
            let start = ContinuousClock.now
            _ = try encoder.encode(frame, forceKeyFrame: false)
            elapsed += start.duration(to: .now)
        }
        return Double(count) / max(elapsed / .seconds(1), .leastNormalMagnitude)
    }

    /// Returns a frame with two crossed gradients that move, and noise.
    private static func frame(_ number: Int, _ dimensions: Dimensions, _ pool: VideoFramePool) -> VideoFrame {
        let frame = pool.frame(
            dimensions: dimensions, captureTime: nil, timestamp: MediaTime(ticks: Int64(number) * 3_000, rate: .video))
        frame.memory.initializeMemory(as: UInt8.self, repeating: 128)
        var noise = UInt32(truncatingIfNeeded: number &+ 1)
        for row in 0..<dimensions.height {
            let vertical = abs((row + 2 * number) % 96 - 48)
            for column in 0..<dimensions.width {
                // A linear congruential generator (Numerical Recipes).
                noise = noise &* 1_664_525 &+ 1_013_904_223
                let horizontal = abs((column + 4 * number) % 128 - 64)
                frame.memory[row * frame.strideY + column] = UInt8(40 + vertical + horizontal + Int(noise >> 29))
            }
        }
        return frame
    }
}
