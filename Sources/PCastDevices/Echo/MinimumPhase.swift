import Glibc

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
