import Glibc
package import PCastCore
import PCastIO
import Synchronization

/// The clapper's tone and quiet noise in frames of 20 ms. Like those of a microphone, a frame is delivered at the time
/// of its last sample.
package final class SyntheticAudioSource: AudioSource {
    /// The number of channels, 1 or 2.
    package let channels: Int
    private let signal = ClapperSignal()
    private let pace = PacedThread()

    /// Creates a source with 1 or 2 channels, which are equal.
    package init(channels: Int = 2) {
        precondition(channels == 1 || channels == 2)
        self.channels = channels
    }

    /// Starts to deliver audio. `ended` is never called. Throws `DeviceError.noThread`.
    package func start(
        deliver: @escaping @Sendable (AudioFrame) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let (signal, channels) = (signal, channels)
        let reference = MonotonicClock.reference()
        let origin = reference.wallTime
        // The number of the first sample since 1970.
        let (seconds, rest) = origin.nanosecondsSinceEpoch.quotientAndRemainder(dividingBy: 1_000_000_000)
        let first = seconds * Int64(AudioFrame.sampleRate) + ClockRate.opus.ticks(in: .nanoseconds(rest))
        try pace.start(
            name: "synthetic-audio", from: reference.instant, due: AudioFrameTiming.due, timeout: .seconds(1)
        ) {
            frameIndex, _ in
            let start = frameIndex * Int64(AudioFrameTiming.sampleCount)
            let samples = signal.samples(from: first + start, count: AudioFrameTiming.sampleCount, channels: channels)
            deliver(
                AudioFrame(
                    samples: samples, channels: channels, captureTime: origin + ClockRate.opus.span(ofTicks: start),
                    timestamp: MediaTime(ticks: start, rate: .opus)))
        }
    }

    /// Stops delivery.
    package func stop() { pace.stop() }
}

/// A thread that calls a function at even times of the monotonic clock.
final class PacedThread: Sendable {
    private let sleep = CancellableSleep()
    private let thread = Mutex<WorkerThread?>(nil)

    deinit { stop() }

    /// Starts the thread. `due` returns the time of a call after `origin` by its number. A call that is late by more
    /// than `timeout` is skipped. Throws `DeviceError.noThread`.
    func start(
        name: String, from origin: Instant, due: @escaping @Sendable (Int64) -> TimeSpan, timeout: TimeSpan,
        body: @escaping @Sendable (_ frameIndex: Int64, _ due: TimeSpan) -> Void
    ) throws(DeviceError) {
        let sleep = sleep
        do {
            let worker = try WorkerThread(name: name, precedence: .media) {
                var frameIndex: Int64 = 0
                while sleep.sleep(until: origin + due(frameIndex)) {
                    if MonotonicClock.now() - origin - due(frameIndex) < timeout { body(frameIndex, due(frameIndex)) }
                    frameIndex += 1
                }
            }
            thread.withLock { $0 = worker }
        } catch {
            throw .noThread("\(error)")
        }
    }

    func stop() {
        sleep.cancel()
        let worker = thread.withLock { $0 }
        worker?.join()
    }
}

/// Silence in frames of 20 ms.
package final class NullAudioSource: AudioSource {
    /// The number of channels, 1 or 2.
    package let channels: Int
    private let pace = PacedThread()

    /// Creates a source with 1 or 2 channels.
    package init(channels: Int = 2) {
        precondition(channels == 1 || channels == 2)
        self.channels = channels
    }

    /// Starts to deliver silence. `ended` is never called. Throws `DeviceError.noThread`.
    package func start(
        deliver: @escaping @Sendable (AudioFrame) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let channels = channels
        let reference = MonotonicClock.reference()
        let origin = reference.wallTime
        let silence = [Int16](repeating: 0, count: AudioFrameTiming.sampleCount * channels)
        try pace.start(name: "null-audio", from: reference.instant, due: AudioFrameTiming.due, timeout: .seconds(1)) {
            frameIndex, _ in
            let start = frameIndex * Int64(AudioFrameTiming.sampleCount)
            deliver(
                AudioFrame(
                    samples: silence, channels: channels, captureTime: origin + ClockRate.opus.span(ofTicks: start),
                    timestamp: MediaTime(ticks: start, rate: .opus)))
        }
    }

    /// Stops delivery.
    package func stop() { pace.stop() }
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
