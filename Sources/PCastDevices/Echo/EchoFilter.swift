/// Learns the path from the loudspeakers to one microphone and subtracts the echo that it foretells.
///
/// A Kalman filter in the frequency domain whose state is the path, in parts (G. Enzner and P. Vary, "Frequency-domain
/// adaptive Kalman filter for acoustic echo control in hands-free telephones", Signal Processing 86, 2006; F. Kuech,
/// E. Mabande and G. Enzner, "State-space architecture of the partitioned-block-based acoustic echo controller",
/// ICASSP 2014). It knows how uncertain each part of the path is at each frequency and how loud everything else is that
/// the microphone hears, so that it learns fast when it knows little and stands still while somebody speaks: nothing
/// has to detect double talk.
final class EchoFilter {
    /// How much of what was presumed of a part's power counts as its own in growing uncertain.
    private static let presumedUnrest: Float = 0.3

    /// How the presumed power of the path falls from part to part, and from which on.
    private static let presumedDecay: Float = 0.7
    private static let presumedFlat = 3

    /// How much of the power of everything else is kept from block to block.
    private static let memory: Float = 0.7

    /// Of everything else, what is always there: the rounding to whole numbers.
    private static let rounding: Float = 1e3

    /// Parts are brought back to a block's length in turn, this many turns for all.
    private static let turns = 4

    let path = EchoPath()

    /// By how much of its own power a part grows uncertain with each block: the more, the faster a changed path is
    /// learnt, and the less near speech is stood.
    var unrest: Float = 1e-4

    /// What was left of the last block, and the echo that was taken out of it.
    let residual = VectorBuffer(count: EchoBlock.sampleCount)
    let echo = VectorBuffer(count: EchoBlock.sampleCount)

    /// The power that is presumed of the echo in the residual, as of a block's samples with nothing around them.
    let uncertainty = VectorBuffer(count: EchoBlock.binCount)

    private let transform: RealTransform
    private let variances: [VectorBuffer]
    private let other = VectorBuffer(count: EchoBlock.binCount)
    private let inverse = VectorBuffer(count: EchoBlock.binCount)
    private let spectrum = Spectrum(count: EchoBlock.binCount)
    private let samples = VectorBuffer(count: EchoBlock.transformLength)
    private var presumed = [Float](repeating: 0, count: EchoBlock.partCount)
    private var turn = 0

    init(transform: RealTransform) {
        self.transform = transform
        variances = (0..<EchoBlock.partCount).map { _ in VectorBuffer(count: EchoBlock.binCount) }
        reset(gain: 1)
    }

    /// Forgets the path, of which only the power is presumed.
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

    /// Takes the echo out of a block that the microphone heard.
    func cancel(_ heard: VectorBuffer, far: FarEnd) {
        path.apply(to: far, into: spectrum)
        transform.inverse(spectrum, into: samples.floats)
        let start = EchoBlock.transformLength - EchoBlock.sampleCount
        echo.floats.update(from: samples.floats + start, count: EchoBlock.sampleCount)
        for index in 0..<EchoBlock.sampleCount { residual.floats[index] = heard.floats[index] - echo.floats[index] }
        samples.fill(0)
        (samples.floats + start).update(from: residual.floats, count: EchoBlock.sampleCount)
        transform.forward(samples.floats, into: spectrum)
        weigh(far)
        learn(far)
        constrain()
    }

    /// How loud the echo may be in the residual, and how loud everything else is.
    private func weigh(_ far: FarEnd) {
        uncertainty.fill(0)
        let doubt = uncertainty.vectors
        for part in 0..<EchoBlock.partCount {
            let power = far.spectrum(before: part).1.vectors
            let variance = variances[part].vectors
            for bin in 0..<EchoBlock.vectorCount { doubt[bin] += power[bin] * variance[bin] }
        }
        let share = Float(EchoBlock.sampleCount) / Float(EchoBlock.transformLength)
        for bin in 0..<EchoBlock.vectorCount {
            doubt[bin] *= share
            let (real, imaginary) = (spectrum.real[bin], spectrum.imaginary[bin])
            let power = real * real + imaginary * imaginary
            other.vectors[bin] = Self.memory * other.vectors[bin] + (1 - Self.memory) * power
            inverse.vectors[bin] = 1 / (doubt[bin] + other.vectors[bin] + Self.rounding)
        }
    }

    private func learn(_ far: FarEnd) {
        let share = Float(EchoBlock.sampleCount) / Float(EchoBlock.transformLength)
        let (er, ei) = (spectrum.real, spectrum.imaginary)
        for part in 0..<EchoBlock.partCount {
            let (sound, soundPower) = far.spectrum(before: part)
            let (xr, xi, power) = (sound.real, sound.imaginary, soundPower.vectors)
            let (wr, wi, variance) = (path.parts[part].real, path.parts[part].imaginary, variances[part].vectors)
            let least = SIMD8<Float>(repeating: Self.presumedUnrest * presumed[part])
            for bin in 0..<EchoBlock.vectorCount {
                let gain = variance[bin] * inverse.vectors[bin]
                let real = wr[bin] + gain * (xr[bin] * er[bin] + xi[bin] * ei[bin])
                let imaginary = wi[bin] + gain * (xr[bin] * ei[bin] - xi[bin] * er[bin])
                wr[bin] = real
                wi[bin] = imaginary
                let kept = (1 - share * gain * power[bin]).clamped(lowerBound: .zero, upperBound: .one)
                variance[bin] = kept * variance[bin] + unrest * (real * real + imaginary * imaginary + least)
            }
        }
    }

    /// What a transform's circle brought into the parts beyond a block's length is taken out again.
    private func constrain() {
        turn = (turn + 1) % Self.turns
        for part in stride(from: turn, to: EchoBlock.partCount, by: Self.turns) {
            transform.inverse(path.parts[part], into: samples.floats)
            (samples.floats + EchoBlock.sampleCount)
                .update(repeating: 0, count: EchoBlock.transformLength - EchoBlock.sampleCount)
            transform.forward(samples.floats, into: path.parts[part])
        }
    }
}
