import PCastCodecs
import PCastCore
import PCastIO

/// The reference signal, delayed by the echo's delay and resampled to the microphone's clock. Times and positions are
/// in ticks of 48 kHz of the monotonic clock, with fractions.
final class PlayedReference {
    /// The change of capture time that is not jitter: samples were lost, or the device was restarted.
    private static let tolerance = 240.0

    /// The blocks that were read.
    let far: FarEnd

    /// The newest block.
    let block = VectorBuffer(count: EchoBlock.sampleCount)

    /// The delay of the reference; nil until it is aligned.
    private(set) var lag: Double?

    private let audio: PlayedAudio
    private var line = FractionalResampler(channels: 1, step: 1)

    /// The position of the first sample in `line`.
    private var origin: Int64 = 0

    /// The position of the next sample to read.
    private var nextSample = 0.0
    private var samples = [Int16](repeating: 0, count: 512)
    private var floats = [Float](repeating: 0, count: 512)

    init(_ audio: PlayedAudio, transform: RealTransform) {
        self.audio = audio
        far = FarEnd(transform: transform)
    }

    /// Sets the delay and reads the audio that the echo path covers again.
    func align(lag: Double, at time: Double, pace: Double) {
        self.lag = lag
        let blocks = EchoBlock.partCount + 2
        nextSample = time - lag - Double(blocks * EchoBlock.sampleCount) * (1 + pace)
        origin = Int64(nextSample) - Int64(line.reach) - 1
        line.restart()
        for _ in 0..<blocks { advance(pace: pace) }
    }

    /// Prepares the next captured block at `time`. Returns true if it was not contiguous, after a pause or lost
    /// samples, so that the reference was realigned.
    func resume(at time: Double, pace: Double) -> Bool {
        guard let lag else { return false }
        if abs(time - lag - nextSample) < Self.tolerance {
            // The clocks may differ in their number of samples per second.
            self.lag = time - nextSample
            return false
        }
        align(lag: lag, at: time, pace: pace)
        return true
    }

    /// Reads the next block.
    func advance(pace: Double) {
        let first = nextSample - Double(origin)
        let step = 1 + pace
        let needed = Int64(first + step * Double(EchoBlock.sampleCount)) + Int64(line.reach) + 2
        while line.end < needed { append(Int(min(needed - line.end, Int64(samples.count)))) }
        line.read(from: first, step: step, into: UnsafeMutableBufferPointer(start: block.floats, count: block.count))
        nextSample += step * Double(EchoBlock.sampleCount)
        line.discard(before: nextSample - Double(origin))
        far.append(block)
    }

    private func append(_ count: Int) {
        samples.withUnsafeMutableBufferPointer {
            audio.read(from: origin + line.end, into: UnsafeMutableBufferPointer(rebasing: $0[..<count]))
        }
        for index in 0..<count { floats[index] = Float(samples[index]) }
        floats.withUnsafeBufferPointer { line.append(UnsafeBufferPointer(rebasing: $0[..<count])) }
    }
}
