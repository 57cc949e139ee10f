/// An adaptive filter that learns the echo path of one microphone and subtracts the predicted echo.
///
/// It is a partitioned frequency-domain Kalman filter whose state is the path (G. Enzner and P. Vary, "Frequency-domain
/// adaptive Kalman filter for acoustic echo control in hands-free telephones", Signal Processing 86, 2006; F. Kuech, E.
/// Mabande and G. Enzner, "State-space architecture of the partitioned-block-based acoustic echo controller", ICASSP
/// 2014). It tracks the uncertainty of each partition by frequency, and the power of all other captured audio. So it
/// adapts fast while the uncertainty is high, and stops during near-end speech without a double-talk detector.
final class EchoFilter {
    /// The weight of a partition's presumed power in the growth of its uncertainty.
    private static let presumedUncertaintyGrowth: Float = 0.3

    /// The decay of the presumed power per partition, and the partition at which it starts.
    private static let presumedDecay: Float = 0.7
    private static let presumedFlat = 3

    /// The weight of the previous average of the power of other audio.
    private static let memory: Float = 0.7

    /// The noise power that is always present: rounding to whole numbers.
    private static let rounding: Float = 1e3

    /// The number of groups in which the partitions are constrained to a block's length, one group per block.
    private static let groups = 4

    let path = EchoPath()

    /// The relative growth of a partition's uncertainty per block. Larger values learn a changed path faster and
    /// tolerate less near-end speech.
    var uncertaintyGrowth: Float = 1e-4

    /// The residual of the last block, and the echo that was subtracted.
    let residual = VectorBuffer(count: EchoBlock.sampleCount)
    let echo = VectorBuffer(count: EchoBlock.sampleCount)

    /// The presumed power of the echo in the residual, for the samples of one block.
    let uncertainty = VectorBuffer(count: EchoBlock.binCount)

    private let transform: RealTransform
    private let variances: [VectorBuffer]
    private let other = VectorBuffer(count: EchoBlock.binCount)
    private let inverse = VectorBuffer(count: EchoBlock.binCount)
    private let spectrum = Spectrum(count: EchoBlock.binCount)
    private let samples = VectorBuffer(count: EchoBlock.transformLength)
    private var presumed = [Float](repeating: 0, count: EchoBlock.partCount)
    private var group = 0

    init(transform: RealTransform) {
        self.transform = transform
        variances = (0..<EchoBlock.partCount).map { _ in VectorBuffer(count: EchoBlock.binCount) }
        reset(gain: 1)
    }

    /// Resets the path, with the presumed power of the echo.
    func reset(gain: Float) {
        path.clear()
        other.fill(0)
        var share = gain
        for part in 0..<EchoBlock.partCount {
            presumed[part] = share
            variances[part].fill(share)
            if part + 1 >= Self.presumedFlat { share *= Self.presumedDecay }
        }
    }

    /// Subtracts the echo from a captured block.
    func cancel(_ captured: VectorBuffer, far: FarEnd) {
        path.apply(to: far, into: spectrum)
        transform.inverse(spectrum, into: samples.floats)
        let start = EchoBlock.transformLength - EchoBlock.sampleCount
        echo.floats.update(from: samples.floats + start, count: EchoBlock.sampleCount)
        for index in 0..<EchoBlock.sampleCount { residual.floats[index] = captured.floats[index] - echo.floats[index] }
        samples.fill(0)
        (samples.floats + start).update(from: residual.floats, count: EchoBlock.sampleCount)
        transform.forward(samples.floats, into: spectrum)
        weigh(far)
        learn(far)
        constrain()
    }

    /// Estimates the power of the residual echo and of all other audio.
    private func weigh(_ far: FarEnd) {
        uncertainty.fill(0)
        let uncertaintyVectors = uncertainty.vectors
        for part in 0..<EchoBlock.partCount {
            let power = far.spectrum(before: part).1.vectors
            let variance = variances[part].vectors
            for bin in 0..<EchoBlock.vectorCount { uncertaintyVectors[bin] += power[bin] * variance[bin] }
        }
        let share = Float(EchoBlock.sampleCount) / Float(EchoBlock.transformLength)
        for bin in 0..<EchoBlock.vectorCount {
            uncertaintyVectors[bin] *= share
            let (real, imaginary) = (spectrum.real[bin], spectrum.imaginary[bin])
            let power = real * real + imaginary * imaginary
            other.vectors[bin] = Self.memory * other.vectors[bin] + (1 - Self.memory) * power
            inverse.vectors[bin] = 1 / (uncertaintyVectors[bin] + other.vectors[bin] + Self.rounding)
        }
    }

    private func learn(_ far: FarEnd) {
        let share = Float(EchoBlock.sampleCount) / Float(EchoBlock.transformLength)
        let (er, ei) = (spectrum.real, spectrum.imaginary)
        for part in 0..<EchoBlock.partCount {
            let (audio, audioPower) = far.spectrum(before: part)
            let (xr, xi, power) = (audio.real, audio.imaginary, audioPower.vectors)
            let (wr, wi, variance) = (path.parts[part].real, path.parts[part].imaginary, variances[part].vectors)
            let least = SIMD8<Float>(repeating: Self.presumedUncertaintyGrowth * presumed[part])
            for bin in 0..<EchoBlock.vectorCount {
                let gain = variance[bin] * inverse.vectors[bin]
                let real = wr[bin] + gain * (xr[bin] * er[bin] + xi[bin] * ei[bin])
                let imaginary = wi[bin] + gain * (xr[bin] * ei[bin] - xi[bin] * er[bin])
                wr[bin] = real
                wi[bin] = imaginary
                let kept = (1 - share * gain * power[bin]).clamped(lowerBound: .zero, upperBound: .one)
                variance[bin] = kept * variance[bin] + uncertaintyGrowth * (real * real + imaginary * imaginary + least)
            }
        }
    }

    /// Removes the wrap-around of the circular convolution from the partitions beyond a block's length.
    private func constrain() {
        group = (group + 1) % Self.groups
        for part in stride(from: group, to: EchoBlock.partCount, by: Self.groups) {
            transform.inverse(path.parts[part], into: samples.floats)
            (samples.floats + EchoBlock.sampleCount)
                .update(repeating: 0, count: EchoBlock.transformLength - EchoBlock.sampleCount)
            transform.forward(samples.floats, into: path.parts[part])
        }
    }
}
