/// What the loudspeakers played lately, as the spectra that an echo's path is applied to: one for each block of the
/// past that the path reaches back to.
final class FarEnd {
    private let transform: RealTransform
    private let history = VectorBuffer(count: EchoBlock.transformLength)
    private let spectra: [Spectrum]
    private let powers: [VectorBuffer]

    /// Where the newest block's spectrum is.
    private var newest = 0

    init(transform: RealTransform) {
        self.transform = transform
        spectra = (0..<EchoBlock.partCount).map { _ in Spectrum(count: EchoBlock.binCount) }
        powers = (0..<EchoBlock.partCount).map { _ in VectorBuffer(count: EchoBlock.binCount) }
    }

    /// Takes in the next block.
    func append(_ block: VectorBuffer) {
        history.shift(in: block)
        newest = (newest + 1) % EchoBlock.partCount
        let (spectrum, power) = (spectra[newest], powers[newest])
        transform.forward(history.floats, into: spectrum)
        for index in 0..<EchoBlock.vectorCount {
            let (real, imaginary) = (spectrum.real[index], spectrum.imaginary[index])
            power.vectors[index] = real * real + imaginary * imaginary
        }
    }

    /// The spectrum, and its power, of the transform that ended so many blocks ago.
    func spectrum(before blocks: Int) -> (Spectrum, VectorBuffer) {
        let slot = (newest + EchoBlock.partCount - blocks) % EchoBlock.partCount
        return (spectra[slot], powers[slot])
    }
}
