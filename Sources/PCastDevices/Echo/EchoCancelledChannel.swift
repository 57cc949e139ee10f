import PCastCodecs
import PCastCore
import PCastIO

/// One channel of a microphone: it learns the echo path, subtracts the echo, and suppresses the residual.
final class EchoCancelledChannel {
    /// The weights of the previous averages of the energies that detect a diverged and a useful filter.
    private static let shortMemory: Float = 0.8
    private static let longMemory: Float = 0.99

    /// The amplification that indicates that the filter has diverged, because the path no longer exists. A residual in
    /// a pause is negligible compared to the audio before it.
    private static let wrong: Float = 2.5
    private static let negligible: Float = 0.01

    /// The fraction of the power below which the residual indicates a useful filter.
    private static let helpfulRatio: Float = 0.25

    /// The factor by which an echo may be weaker than presumed after a restart, and the factor by which it must be
    /// louder to justify one.
    private static let weakestEcho: Float = 0.01
    private static let strongestEcho: Float = 4

    /// The growth of the filter's uncertainty: always; in the first second after a restart; and by the fraction of the
    /// residual that the predicted echo explains beyond chance.
    private static let steadyGrowth: Float = 1e-4
    private static let restartStepSize: Float = 1e-3
    private static let stepSizeDecay: Float = 0.995
    private static let correction: Float = 3e-3
    private static let uncertainShare: Float = 0.15

    /// The captured block, which is cleaned in place.
    let block = VectorBuffer(count: EchoBlock.sampleCount)

    let filter: EchoFilter

    /// The captured audio before the block.
    let history = BlockHistory()

    private let suppressor: ResidualSuppressor
    private var captured: (short: Float, long: Float) = (0, 0)
    private var left: (short: Float, long: Float) = (0, 0)
    private var played: Float = 0

    /// The power of the path as measured, and as presumed by the filter.
    private var gain: Float = 0
    private var presumedGain: Float = 0
    private var restartStepSize: Float = 0

    init(transform: RealTransform) {
        filter = EchoFilter(transform: transform)
        suppressor = ResidualSuppressor(transform: transform)
    }

    /// Whether the filter removed most of the captured audio in the last half second.
    var isHelping: Bool { left.long < Self.helpfulRatio * captured.long }

    /// Restarts with a new path, of which only the power is known. The captured power may be too low, e.g., if the
    /// microphone was muted.
    func restart(gain: Float) {
        self.gain = max(self.gain, gain)
        begin(gain: self.gain)
    }

    /// Reports the possible power of the echo. A filter that was restarted with a lower power while the microphone was
    /// muted would adapt too slowly.
    func expect(gain: Float) {
        guard gain > Self.strongestEcho * presumedGain, self.gain > Self.strongestEcho * presumedGain, !isHelping else {
            return
        }
        begin(gain: min(gain, self.gain))
    }

    /// Resumes after a pause.
    func resume() {
        suppressor.resume()
        history.removeAll()
    }

    /// Cleans the block in place. Returns false if the filter had diverged and was restarted.
    func clean(_ reference: PlayedReference) -> Bool {
        restartStepSize *= Self.stepSizeDecay
        filter.uncertaintyGrowth =
            Self.steadyGrowth + restartStepSize + Self.correction
            * max(0, suppressor.residualEchoShare - Self.uncertainShare)
        filter.cancel(block, far: reference.far)
        let (before, after) = (block.energy, filter.residual.energy)
        captured = (Self.shortMemory * captured.short + before, Self.longMemory * captured.long + before)
        left = (Self.shortMemory * left.short + after, Self.longMemory * left.long + after)
        played = Self.longMemory * played + reference.block.energy
        let isRight = left.short <= Self.wrong * captured.short + Self.negligible * captured.long
        if isRight { block.replace(at: 0, with: filter.residual) }
        suppressor.suppress(block, echo: filter.echo, uncertainty: filter.uncertainty)
        if !isRight { begin(gain: max(Self.weakestEcho * gain, min(gain, captured.long / (played + 1)))) }
        return isRight
    }

    private func begin(gain: Float) {
        presumedGain = gain
        restartStepSize = Self.restartStepSize
        filter.reset(gain: gain)
        left = captured
    }
}

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
