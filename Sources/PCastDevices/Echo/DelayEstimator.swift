import Glibc
import PCastMedia

/// Finds how long after it was played a microphone hears a sound, by cross-correlation: what nobody can be asked, as
/// devices do not tell all of their buffers.
///
/// It averages the cross-spectrum of the last half second of what was played and the last eighth of what is heard over
/// some seconds of sound, divides it by the power of what was played (so that a voice's pitch makes no peaks), and
/// looks for the peak of its inverse. Pure: it is told sound, block by block.
final class DelayEstimator {
    /// What was found.
    struct Estimate: Equatable {
        /// Until the first sound arrives; from -20 ms to 300 ms.
        var delay: TimeSpan
        /// The highest peak over the mean of everything (root mean square): below 6, nobody knows.
        var clearness: Float

        /// The power of what is heard over that of what is played: no echo is louder.
        var gain: Float
    }

    /// Everything here is in samples of 8 kHz.
    private static let rate = ClockRate(hertz: 8_000)
    private static let blockLength = EchoBlock.sampleCount / Decimator.factor
    private static let transformLength = 4_096
    /// Of what is heard; a look is taken each time that so much is new.
    private static let heardLength = 1_000
    private static let earliest = -160
    private static let latest = 2_400
    /// What the first of them stands for.
    static let earliestDelay = rate.span(ofTicks: Int64(earliest))
    /// Of the average that is kept from look to look: 1.5 s.
    private static let memory: Float = 0.92
    /// Quieter sound tells nothing, in power of a sample.
    private static let quiet: Float = 100

    private let transform = RealTransform(length: DelayEstimator.transformLength)
    private var heardDecimator = Decimator(blockLength: EchoBlock.sampleCount)
    private var playedDecimator = Decimator(blockLength: EchoBlock.sampleCount)
    private let played = VectorBuffer(count: DelayEstimator.transformLength)
    /// Older by `earliest` than what was played.
    private let heard = VectorBuffer(count: DelayEstimator.heardLength + 160)
    private let samples = VectorBuffer(count: DelayEstimator.transformLength)
    private let playedSpectrum = Spectrum(count: DelayEstimator.transformLength / 2)
    private let heardSpectrum = Spectrum(count: DelayEstimator.transformLength / 2)
    private let cross = Spectrum(count: DelayEstimator.transformLength / 2)
    private let power = VectorBuffer(count: DelayEstimator.transformLength / 2)
    private let block = VectorBuffer(count: DelayEstimator.blockLength)
    private var pending = 0
    private var playedEnergy: Float = 0
    private var heardEnergy: Float = 0

    /// There is a gap before the next block: the sound before it is forgotten, what it told is kept.
    func pause() {
        played.fill(0)
        heard.fill(0)
        pending = 0
    }

    /// Takes in a block of 5 ms of either sound, both of the same time; answers when there was something new to see.
    func observe(played playedBlock: VectorBuffer, heard heardBlock: VectorBuffer) -> Estimate? {
        playedDecimator.decimate(playedBlock, into: block)
        played.shift(in: block)
        heardDecimator.decimate(heardBlock, into: block)
        heard.shift(in: block)
        pending += Self.blockLength
        guard pending >= Self.heardLength else { return nil }
        pending = 0
        let energy = played.energy
        guard energy > Self.quiet * Float(Self.transformLength) else { return nil }
        playedEnergy = Self.memory * playedEnergy + energy / Float(played.count)
        heardEnergy = Self.memory * heardEnergy + heard.energy / Float(heard.count)
        accumulate()
        return look()
    }

    private func accumulate() {
        transform.forward(played.floats, into: playedSpectrum)
        samples.fill(0)
        let start = Self.transformLength + Self.earliest - Self.heardLength
        (samples.floats + start).update(from: heard.floats, count: Self.heardLength)
        transform.forward(samples.floats, into: heardSpectrum)
        let (pr, pi) = (playedSpectrum.real, playedSpectrum.imaginary)
        let (hr, hi) = (heardSpectrum.real, heardSpectrum.imaginary)
        for bin in 0..<power.vectorCount {
            power.vectors[bin] = Self.memory * power.vectors[bin] + pr[bin] * pr[bin] + pi[bin] * pi[bin]
            cross.real[bin] = Self.memory * cross.real[bin] + hr[bin] * pr[bin] + hi[bin] * pi[bin]
            cross.imaginary[bin] = Self.memory * cross.imaginary[bin] + hi[bin] * pr[bin] - hr[bin] * pi[bin]
        }
    }

    private func look() -> Estimate? {
        var mean: Float = 0
        for bin in 0..<power.vectorCount { mean += power.vectors[bin].sum() }
        mean /= Float(power.count)
        // From 150 Hz to 3.4 kHz: below is hum, above nothing is left.
        let width = 8_000 / Float(Self.transformLength)
        let (low, high) = (Int(150 / width), Int(3_400 / width))
        for bin in 0..<power.count {
            let weight = bin >= low && bin < high ? 1 / (power.floats[bin] + 0.01 * mean) : 0
            heardSpectrum.realFloats[bin] = cross.realFloats[bin] * weight
            heardSpectrum.imaginaryFloats[bin] = cross.imaginaryFloats[bin] * weight
        }
        transform.inverse(heardSpectrum, into: samples.floats)
        func response(_ lag: Int) -> Float { abs(samples.floats[(lag + Self.transformLength) % Self.transformLength]) }
        var (peak, place, sum) = (Float(0), 0, Float(0))
        for lag in Self.earliest...Self.latest {
            let value = response(lag)
            sum += value * value
            if value > peak { (peak, place) = (value, lag) }
        }
        let rest = (sum / Float(Self.latest - Self.earliest + 1)).squareRoot()
        guard rest > 0 else { return nil }
        // The first sound need not be the loudest, but nearly.
        let first = (max(Self.earliest, place - 80)...place).first { response($0) > 0.4 * peak } ?? place
        return Estimate(
            delay: Self.rate.span(ofTicks: Int64(first)), clearness: peak / rest, gain: heardEnergy / playedEnergy)
    }
}
