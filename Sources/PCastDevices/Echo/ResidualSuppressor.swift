import Glibc

/// Suppresses the residual echo in one microphone's audio: frequencies that contain little but echo are attenuated down
/// to the noise of the room.
///
/// The residual echo is estimated from the filter's uncertainty and from a fraction of the subtracted echo. That
/// fraction is small (distortion by speakers, long reverberation) during near-end speech. It is large while the
/// captured audio is coherent with the predicted echo, which near-end speech is not.
final class ResidualSuppressor {
    /// The factor by which the estimate is exceeded.
    private static let overestimation: Float = 2

    /// The fraction of the echo's power that remains for unknown reasons, and its factor while there is only echo.
    private static let leak: Float = 3e-3
    private static let echoOnlyLeakFactor: Float = 400

    /// The coherence below which there is near-end speech, and above which there is only echo.
    private static let echoOnlyLow: Float = 0.8
    private static let echoOnlyHigh: Float = 0.98

    /// The smallest gain.
    private static let least: Float = 0.01

    /// The weights of the previous averages of powers, and of rising and falling gains.
    private static let memory: Float = 0.5
    private static let rise: Float = 0.3
    private static let fall: Float = 0.5

    /// The noise of the room is the minimum of the power, which grows by this factor per block: 3 dB in 2.3 s.
    private static let noiseGrowth: Float = 1.0015

    private let transform: RealTransform
    private let shaper: MinimumPhase
    private let window = VectorBuffer(count: EchoBlock.transformLength)
    private var windowPower: Float = 0

    private let residual = VectorBuffer(count: EchoBlock.transformLength)
    private let echo = VectorBuffer(count: EchoBlock.transformLength)
    private let samples = VectorBuffer(count: EchoBlock.transformLength)
    private let residualSpectrum = Spectrum(count: EchoBlock.binCount)
    private let echoSpectrum = Spectrum(count: EchoBlock.binCount)

    private let residualPower = VectorBuffer(count: EchoBlock.binCount)
    private let echoPower = VectorBuffer(count: EchoBlock.binCount)
    private let uncertaintyPower = VectorBuffer(count: EchoBlock.binCount)
    private let capturedSpectrum = Spectrum(count: EchoBlock.binCount)

    /// The coherence of the captured audio with the predicted echo over 50 ms, and of the residual with it over 160 ms.
    private let capturedCoherence = Coherence(memory: 0.9)
    private let leftCoherence = Coherence(memory: 0.97)
    private let noise = VectorBuffer(count: EchoBlock.binCount)
    private let gains = VectorBuffer(count: EchoBlock.binCount)
    private let smooth = VectorBuffer(count: EchoBlock.binCount)
    private let estimated = VectorBuffer(count: EchoBlock.binCount)

    init(transform: RealTransform) {
        self.transform = transform
        shaper = MinimumPhase(transform: transform)
        // The window rises slowly and falls fast, so that the newest audio has more weight.
        let fall = 112
        let rise = EchoBlock.transformLength - fall
        for index in 0..<EchoBlock.transformLength {
            let angle = index < rise ? Float(index) / Float(rise) : 1 - Float(index - rise) / Float(fall)
            let value = sin(.pi / 2 * angle)
            window.floats[index] = value * value
            windowPower += value * value * value * value
        }
        noise.fill(1e12)
        resume()
    }

    /// Resumes after a pause. Everything but the noise of the room is reset.
    func resume() {
        for buffer in [residual, echo, residualPower, echoPower, uncertaintyPower] { buffer.fill(0) }
        capturedCoherence.clear()
        leftCoherence.clear()
        gains.fill(1)
        shaper.reset()
    }

    /// Suppresses the residual echo in a block. `echoEstimate` is the echo that the filter subtracted, and `uncertainty` the
    /// power of the residual echo that it estimates.
    func suppress(_ block: VectorBuffer, echo echoEstimate: VectorBuffer, uncertainty: VectorBuffer) {
        residual.shift(in: block)
        echo.shift(in: echoEstimate)
        analyze(residual, into: residualSpectrum)
        analyze(echo, into: echoSpectrum)
        average(uncertainty)
        estimateEchoPower(echoOnlyProbability: echoOnlyProbability())
        decide()
        Self.blur(gains.floats, into: smooth.floats, reach: 1)
        shaper.apply(smooth, to: block)
    }

    private func analyze(_ audio: VectorBuffer, into spectrum: Spectrum) {
        for index in 0..<audio.vectorCount { samples.vectors[index] = audio.vectors[index] * window.vectors[index] }
        transform.forward(samples.floats, into: spectrum)
    }

    private func average(_ uncertainty: VectorBuffer) {
        let kept = Self.memory
        let scale = (1 - kept) * windowPower / Float(EchoBlock.sampleCount)
        let (rr, ri, er, ei) = (
            residualSpectrum.real, residualSpectrum.imaginary, echoSpectrum.real, echoSpectrum.imaginary
        )
        for bin in 0..<EchoBlock.vectorCount {
            let echo = er[bin] * er[bin] + ei[bin] * ei[bin]
            let left = rr[bin] * rr[bin] + ri[bin] * ri[bin]
            residualPower.vectors[bin] = kept * residualPower.vectors[bin] + (1 - kept) * left
            echoPower.vectors[bin] = kept * echoPower.vectors[bin] + (1 - kept) * echo
            uncertaintyPower.vectors[bin] = kept * uncertaintyPower.vectors[bin] + scale * uncertainty.vectors[bin]
            capturedSpectrum.real[bin] = rr[bin] + er[bin]
            capturedSpectrum.imaginary[bin] = ri[bin] + ei[bin]
        }
        capturedCoherence.observe(capturedSpectrum, echoSpectrum)
        leftCoherence.observe(residualSpectrum, echoSpectrum)
    }

    /// The fraction of the residual that the predicted echo explains. It is small for near-end speech and large for an
    /// outdated path.
    var residualEchoShare: Float { leftCoherence.share }

    /// Returns the probability that there is only echo: 0 with near-end speech, 1 without, by the coherence with the
    /// predicted echo.
    private func echoOnlyProbability() -> Float {
        max(0, min(1, (capturedCoherence.share - Self.echoOnlyLow) / (Self.echoOnlyHigh - Self.echoOnlyLow)))
    }

    private func estimateEchoPower(echoOnlyProbability: Float) {
        let share = Self.leak * (1 + Self.echoOnlyLeakFactor * echoOnlyProbability * echoOnlyProbability)
        for bin in 0..<EchoBlock.vectorCount {
            estimated.vectors[bin] =
                Self.overestimation * uncertaintyPower.vectors[bin] + share * echoPower.vectors[bin]
        }
    }

    private func decide() {
        Self.blur(residualPower.floats, into: smooth.floats, reach: 2)
        for bin in 0..<EchoBlock.binCount {
            noise.floats[bin] = min(noise.floats[bin] * Self.noiseGrowth, max(smooth.floats[bin], 1))
        }
        let blurred = samples.floats
        Self.blur(estimated.floats, into: blurred, reach: 2)
        for bin in 0..<EchoBlock.binCount {
            let power = smooth.floats[bin] + 1
            let floor = min(1, (noise.floats[bin] / power).squareRoot())
            let gain = max(1 - blurred[bin] / power, floor, Self.least)
            let kept = gain < gains.floats[bin] ? Self.fall : Self.rise
            gains.floats[bin] = kept * gains.floats[bin] + (1 - kept) * gain
        }
    }

    /// Averages each frequency with its neighbors.
    private static func blur(
        _ source: UnsafePointer<Float>, into target: UnsafeMutablePointer<Float>, reach: Int
    ) {
        for bin in 0..<EchoBlock.binCount {
            var sum: Float = 0
            for other in max(0, bin - reach)...min(EchoBlock.binCount - 1, bin + reach) { sum += source[other] }
            target[bin] = sum / Float(min(EchoBlock.binCount - 1, bin + reach) - max(0, bin - reach) + 1)
        }
    }
}

/// Applies gains by frequency without delay: with the minimum-phase filter of these gains, crossfaded between blocks.
final class MinimumPhase {
    /// The length of the filter's impulse response, which is truncated to it.
    private static let length = EchoBlock.transformLength - EchoBlock.sampleCount

    private let transform: RealTransform
    private let history = VectorBuffer(count: EchoBlock.transformLength)
    private let samples = VectorBuffer(count: EchoBlock.transformLength)
    private let before = VectorBuffer(count: EchoBlock.transformLength)
    private let audio = Spectrum(count: EchoBlock.binCount)
    private let product = Spectrum(count: EchoBlock.binCount)
    private var filter = Spectrum(count: EchoBlock.binCount)
    private var next = Spectrum(count: EchoBlock.binCount)

    init(transform: RealTransform) {
        self.transform = transform
        reset()
    }

    /// Resets the filter to unity gain.
    func reset() {
        filter.clear()
        filter.realFloats.update(repeating: 1, count: EchoBlock.binCount)
    }

    /// Filters a block in place. The gains are fully effective at its end.
    func apply(_ gains: VectorBuffer, to block: VectorBuffer) {
        history.shift(in: block)
        transform.forward(history.floats, into: audio)
        design(gains)
        multiply(by: filter, into: before)
        multiply(by: next, into: samples)
        let start = EchoBlock.transformLength - EchoBlock.sampleCount
        for index in 0..<EchoBlock.sampleCount {
            let share = (Float(index) + 0.5) / Float(EchoBlock.sampleCount)
            let (old, new) = (before.floats[start + index], samples.floats[start + index])
            block.floats[index] = old + share * (new - old)
        }
        swap(&filter, &next)
    }

    private func multiply(by filter: Spectrum, into target: VectorBuffer) {
        for bin in 0..<EchoBlock.vectorCount {
            let (sr, si, fr, fi) = (audio.real[bin], audio.imaginary[bin], filter.real[bin], filter.imaginary[bin])
            product.real[bin] = sr * fr - si * fi
            product.imaginary[bin] = sr * fi + si * fr
        }
        transform.inverse(product, into: target.floats)
    }

    /// Computes the minimum-phase filter from the cepstrum of the gains: their logarithms, folded onto positive times
    /// (A. V. Oppenheim and R. W. Schafer, "Discrete-Time Signal Processing", section on the complex cepstrum).
    private func design(_ gains: VectorBuffer) {
        next.clear()
        for bin in 0..<EchoBlock.binCount { next.realFloats[bin] = logf(gains.floats[bin]) }
        transform.inverse(next, into: samples.floats)
        let half = EchoBlock.transformLength / 2
        for index in 1..<half { samples.floats[index] *= 2 }
        (samples.floats + half + 1).update(repeating: 0, count: half - 1)
        transform.forward(samples.floats, into: next)
        for bin in 0..<EchoBlock.binCount {
            let (gain, phase) = (expf(next.realFloats[bin]), next.imaginaryFloats[bin])
            next.realFloats[bin] = gain * cosf(phase)
            next.imaginaryFloats[bin] = gain * sinf(phase)
        }
        transform.inverse(next, into: samples.floats)
        (samples.floats + Self.length).update(repeating: 0, count: EchoBlock.transformLength - Self.length)
        transform.forward(samples.floats, into: next)
    }
}
