import Glibc
import PCastCore

/// Estimates the delay of the echo by cross-correlation, because devices do not report all of their buffers.
///
/// It computes the cross-spectrum of the last half second of the reference and the last eighth of a second of the
/// captured audio. It averages that over some seconds, and divides it by the power of the reference. The division
/// prevents peaks from the pitch of a voice. The delay is the peak of the inverse transform. It does no I/O.
final class DelayEstimator {
    /// An estimate.
    struct Estimate: Equatable {
        /// The delay of the first arrival, from -20 ms to 300 ms.
        var delay: TimeSpan
        /// The ratio of the highest peak to the root mean square. Below 6, the estimate is unreliable.
        var confidence: Float

        /// The ratio of the captured power to the reference power, an upper bound of the echo's power.
        var gain: Float
    }

    /// All numbers of samples refer to 8 kHz.
    private static let rate = ClockRate(hertz: 8_000)
    private static let blockLength = EchoBlock.sampleCount / Decimator.factor
    private static let transformLength = 4_096
    /// The length of captured audio per estimate.
    private static let capturedLength = 1_000
    private static let earliest = -160
    private static let latest = 2_400
    /// The smallest delay that is estimated.
    static let earliestDelay = rate.span(ofTicks: Int64(earliest))
    /// The weight of the previous average, with a time constant of 1.5 s.
    private static let memory: Float = 0.92
    /// The power per sample below which audio is too quiet for an estimate.
    private static let silenceLimit: Float = 100

    private let transform = RealTransform(length: DelayEstimator.transformLength)
    private var capturedDecimator = Decimator(blockLength: EchoBlock.sampleCount)
    private var playedDecimator = Decimator(blockLength: EchoBlock.sampleCount)
    private let played = VectorBuffer(count: DelayEstimator.transformLength)
    /// The captured audio. Its end is earlier than that of the reference by `earliest`.
    private let captured = VectorBuffer(count: DelayEstimator.capturedLength + 160)
    private let samples = VectorBuffer(count: DelayEstimator.transformLength)
    private let playedSpectrum = Spectrum(count: DelayEstimator.transformLength / 2)
    private let capturedSpectrum = Spectrum(count: DelayEstimator.transformLength / 2)
    private let cross = Spectrum(count: DelayEstimator.transformLength / 2)
    private let power = VectorBuffer(count: DelayEstimator.transformLength / 2)
    private let block = VectorBuffer(count: DelayEstimator.blockLength)
    private var pending = 0
    private var playedEnergy: Float = 0
    private var capturedEnergy: Float = 0

    /// Discards the audio before a gap, but keeps the averages.
    func pause() {
        played.fill(0)
        captured.fill(0)
        pending = 0
    }

    /// Adds a block of 5 ms of both signals at the same time. Returns a new estimate; nil if more audio is needed.
    func observe(played playedBlock: VectorBuffer, captured capturedBlock: VectorBuffer) -> Estimate? {
        playedDecimator.decimate(playedBlock, into: block)
        played.shift(in: block)
        capturedDecimator.decimate(capturedBlock, into: block)
        captured.shift(in: block)
        pending += Self.blockLength
        guard pending >= Self.capturedLength else { return nil }
        pending = 0
        let energy = played.energy
        guard energy > Self.silenceLimit * Float(Self.transformLength) else { return nil }
        playedEnergy = Self.memory * playedEnergy + energy / Float(played.count)
        capturedEnergy = Self.memory * capturedEnergy + captured.energy / Float(captured.count)
        accumulate()
        return look()
    }

    private func accumulate() {
        transform.forward(played.floats, into: playedSpectrum)
        samples.fill(0)
        let start = Self.transformLength + Self.earliest - Self.capturedLength
        (samples.floats + start).update(from: captured.floats, count: Self.capturedLength)
        transform.forward(samples.floats, into: capturedSpectrum)
        let (pr, pi) = (playedSpectrum.real, playedSpectrum.imaginary)
        let (hr, hi) = (capturedSpectrum.real, capturedSpectrum.imaginary)
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
        // The band is 150 Hz to 3.4 kHz: hum is below, and the decimator removes everything above.
        let width = 8_000 / Float(Self.transformLength)
        let (low, high) = (Int(150 / width), Int(3_400 / width))
        for bin in 0..<power.count {
            let weight = bin >= low && bin < high ? 1 / (power.floats[bin] + 0.01 * mean) : 0
            capturedSpectrum.realFloats[bin] = cross.realFloats[bin] * weight
            capturedSpectrum.imaginaryFloats[bin] = cross.imaginaryFloats[bin] * weight
        }
        transform.inverse(capturedSpectrum, into: samples.floats)
        func response(_ lag: Int) -> Float { abs(samples.floats[(lag + Self.transformLength) % Self.transformLength]) }
        var (peak, peakIndex, sum) = (Float(0), 0, Float(0))
        for lag in Self.earliest...Self.latest {
            let value = response(lag)
            sum += value * value
            if value > peak { (peak, peakIndex) = (value, lag) }
        }
        let rest = (sum / Float(Self.latest - Self.earliest + 1)).squareRoot()
        guard rest > 0 else { return nil }
        // The first arrival may be slightly quieter than the peak.
        let first = (max(Self.earliest, peakIndex - 80)...peakIndex).first { response($0) > 0.4 * peak } ?? peakIndex
        return Estimate(
            delay: Self.rate.span(ofTicks: Int64(first)), confidence: peak / rest, gain: capturedEnergy / playedEnergy)
    }
}

/// Decimates audio from 48 kHz to 8 kHz with a low-pass filter.
struct Decimator {
    static let factor = 6

    /// The number of filter taps.
    private static let tapCount = 72

    private var history: [Float]
    private let taps: [Float]

    /// Creates a decimator for blocks whose length is a multiple of `factor`.
    init(blockLength: Int) {
        precondition(blockLength.isMultiple(of: Self.factor))
        history = Array(repeating: 0, count: Self.tapCount + blockLength)
        // The filter is a sinc with a cutoff of 3.4 kHz in a Hann window.
        let cutoff = 3_400.0 / 24_000
        var taps = (0..<Self.tapCount).map { tap -> Double in
            let distance = Double(tap) - Double(Self.tapCount - 1) / 2
            let window = 0.5 - 0.5 * cos(2 * .pi * (Double(tap) + 0.5) / Double(Self.tapCount))
            return window * sin(.pi * cutoff * distance) / (.pi * distance)
        }
        let sum = taps.reduce(0, +)
        for tap in taps.indices { taps[tap] /= sum }
        self.taps = taps.map(Float.init)
    }

    /// Decimates a block to a sixth of its length.
    mutating func decimate(_ block: VectorBuffer, into target: VectorBuffer) {
        let length = history.count - Self.tapCount
        for index in 0..<Self.tapCount { history[index] = history[index + length] }
        for index in 0..<length { history[Self.tapCount + index] = block.floats[index] }
        for index in 0..<length / Self.factor {
            var sum: Float = 0
            for tap in 0..<Self.tapCount { sum += history[index * Self.factor + tap + 1] * taps[tap] }
            target.floats[index] = sum
        }
    }
}
