import PCastCodecs
import PCastCore
import PCastIO

/// Reports a device's audio to `PlayedAudio` as reference for echo cancellation, resampled to the system clock. The
/// microphone is captured on the system clock, so that the device's clock deviation would make the echo path drift. It
/// reads no clock; the caller passes the time.
struct PlayedAudioReporter {
    /// The duration of a chunk that is reported.
    private static let length = TimeSpan.milliseconds(10)

    /// The number of chunks over which a deviation from the clock is corrected.
    private static let timeout = 200.0

    private var line: FractionalResampler
    private var mixed: [Float] = []
    private var read: [Float]
    private var samples: [Int16]

    /// The position in the device's audio at which the next chunk starts, and the time at which that is played; nil at
    /// the start.
    private var nextSample = 0.0
    private var next: Instant?

    private let writer: PlayedAudioWriter

    /// Creates a tap.
    ///
    /// - Parameters:
    ///   - rate: The sample rate of the device.
    ///   - writer: The receiver of the audio.
    init(rate: Int, writer: PlayedAudioWriter) {
        self.writer = writer
        line = FractionalResampler(channels: 1, step: Double(rate) / Double(AudioFrame.sampleRate))
        let count = Int(ClockRate.opus.ticks(in: Self.length))
        read = Array(repeating: 0, count: count)
        samples = Array(repeating: 0, count: count)
    }

    /// Restarts after the device was restarted, because its sample count starts again at zero.
    mutating func restart() {
        line.restart()
        nextSample = 0
        next = nil
    }

    /// Adds interleaved stereo audio that was written to the device.
    mutating func put(_ samples: ArraySlice<Int16>, clock: SampleClock) {
        mixed.removeAll(keepingCapacity: true)
        for index in stride(from: samples.startIndex, to: samples.endIndex - 1, by: 2) {
            mixed.append((Float(samples[index]) + Float(samples[index + 1])) / 2)
        }
        mixed.withUnsafeBufferPointer { line.append($0) }
        while notify(clock) {}
    }

    /// Reports the next chunk. Returns false if that requires more audio.
    private mutating func notify(_ clock: SampleClock) -> Bool {
        guard let start = next ?? clock.instant(of: nextSample), let target = clock.position(at: start),
            let end = clock.position(at: start + Self.length)
        else { return false }
        // Corrections of the clock are applied gradually, unless the deviation is large.
        if abs(target - nextSample) > PlayedAudioWriter.tolerance.seconds * clock.rate {
            next = clock.instant(of: nextSample)
            return next != nil
        }
        let step = (end - target + (target - nextSample) / Self.timeout) / Double(read.count)
        guard nextSample + step * Double(read.count) <= line.lastPosition else { return false }
        read.withUnsafeMutableBufferPointer { line.read(from: nextSample, step: step, into: $0) }
        for index in read.indices { samples[index] = Int16(min(max(read[index].rounded(), -32_768), 32_767)) }
        samples.withUnsafeBufferPointer { writer.play($0, channels: 1, from: start) }
        nextSample += step * Double(read.count)
        next = start + Self.length
        line.discard(before: nextSample)
        return true
    }
}
