import Glibc
import PCastCodecs
package import PCastCore

/// The clapper's tone and quiet noise in frames of 20 ms.
package final class SyntheticAudioSource: AudioSource {
    private let frames: PacedAudio
    private let signal = ClapperSignal()
    private let timeout: TimeSpan

    /// Creates a source with 1 or 2 channels, which are equal. A frame that is late by more than `timeout` is skipped.
    package init(channels: Int = 2, timeout: TimeSpan = .seconds(1)) {
        frames = PacedAudio(channels: channels)
        self.timeout = timeout
    }

    /// The number of channels, 1 or 2.
    package var channels: Int { frames.channels }

    /// Starts to deliver audio. `ended` is never called. Throws `DeviceError.noThread`.
    package func start(
        deliver: @escaping @Sendable (AudioFrame) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let (signal, channels) = (signal, channels)
        try frames.start(name: "synthetic-audio", timeout: timeout, deliver: deliver) { start, origin in
            // The number of the first sample since 1970.
            let (seconds, rest) = origin.nanosecondsSinceEpoch.quotientAndRemainder(dividingBy: 1_000_000_000)
            let first = seconds * Int64(AudioFrame.sampleRate) + ClockRate.opus.ticks(in: .nanoseconds(rest))
            return signal.samples(from: first + start, count: AudioFrameTiming.sampleCount, channels: channels)
        }
    }

    /// Stops delivery.
    package func stop() { frames.stop() }
}

/// The frames of 20 ms that every audio source delivers.
enum AudioFrameTiming {
    static let sampleCount = AudioFrame.sampleRate / 50

    /// Returns the time at which a frame is complete, since the origin of its source.
    static func due(_ frameIndex: Int64) -> TimeSpan { .milliseconds(20) * (frameIndex + 1) }
}

/// The audio of the test signal by UTC: the clapper's tone, and quiet noise in between.
///
/// A sample's value depends only on its time, so that the tone starts at the UTC second and continues across frames.
struct ClapperSignal {
    /// The amplitude of the tone, a quarter of full scale (-12 dBFS).
    private static let toneAmplitude = 8_192.0

    /// The bound of the uniform noise of -60 dBFS. Its root mean square is the bound divided by √3.
    private static let noiseBound = 32.768 * 3.0.squareRoot()

    private let tone: [Int16]

    init() {
        let period = AudioFrame.sampleRate / ClapperSchedule.frequency
        tone = (0..<period).map {
            Int16((Self.toneAmplitude * sin(Double($0) / Double(period) * 2 * .pi)).rounded())
        }
    }

    /// Returns the sample with this number since 1970.
    func sample(at index: Int64) -> Int16 {
        let rate = Int64(AudioFrame.sampleRate)
        let inSecond = (index % rate + rate) % rate
        if inSecond < ClockRate.opus.ticks(in: ClapperSchedule.length) { return tone[Int(inSecond) % tone.count] }
        return Int16((Self.noise(index) * Self.noiseBound).rounded())
    }

    /// Returns `count` samples per channel from a number on.
    func samples(from index: Int64, count: Int, channels: Int) -> [Int16] {
        var samples: [Int16] = []
        samples.reserveCapacity(count * channels)
        for offset in 0..<Int64(count) {
            let sample = sample(at: index + offset)
            for _ in 0..<channels { samples.append(sample) }
        }
        return samples
    }

    /// Returns a pseudorandom number from -1 to 1 without state: the index, hashed with SplitMix64's finalizer.
    private static func noise(_ index: Int64) -> Double {
        var bits = UInt64(bitPattern: index) &* 0x9E37_79B9_7F4A_7C15
        bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
        return Double(Int64(bitPattern: bits ^ bits >> 31)) / 0x1p63
    }
}

/// The test pattern at a constant rate. Its time strip contains the capture time of each frame.
package final class SyntheticVideoSource: VideoSource {
    private let frames: PacedVideo
    private let pattern: TestPattern
    private let pool = VideoFramePool()

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - dimensions: The size of the frames, at least 64 columns and 32 rows.
    ///   - frameRate: The frame rate, 1 to 240.
    package convenience init(dimensions: Dimensions = Dimensions(width: 1_280, height: 720), frameRate: Int = 30) {
        self.init(PacedVideo(dimensions: dimensions, frameRate: frameRate))
    }

    convenience init(_ configuration: VideoConfiguration) { self.init(PacedVideo(configuration)) }

    private init(_ frames: PacedVideo) {
        self.frames = frames
        pattern = TestPattern(dimensions: frames.dimensions)
    }

    /// The size of the frames.
    package var dimensions: Dimensions { frames.dimensions }

    /// The frame rate in frames per second.
    package var nominalFrameRate: Double { Double(frames.frameRate) }

    /// Starts to deliver frames. `ended` is never called. Throws `DeviceError.noThread`.
    package func start(
        deliver: @escaping @Sendable (VideoSample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let (pattern, pool) = (pattern, pool)
        try frames.start(name: "synthetic-video", deliver: deliver) { frameIndex, captureTime, timestamp in
            let frame = pool.frame(dimensions: pattern.dimensions, captureTime: captureTime, timestamp: timestamp)
            pattern.draw(counter: Int(frameIndex), captureTime: captureTime, into: frame)
            return frame
        }
    }

    /// Stops delivery.
    package func stop() { frames.stop() }
}
