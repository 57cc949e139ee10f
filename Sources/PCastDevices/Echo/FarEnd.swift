/// The recent reference signal, as one spectrum per block that the path covers.
final class FarEnd {
    private let transform: RealTransform
    private let history = VectorBuffer(count: EchoBlock.transformLength)
    private let spectra: [Spectrum]
    private let powers: [VectorBuffer]

    /// The index of the newest block's spectrum.
    private var newest = 0

    init(transform: RealTransform) {
        self.transform = transform
        spectra = (0..<EchoBlock.partCount).map { _ in Spectrum(count: EchoBlock.binCount) }
        powers = (0..<EchoBlock.partCount).map { _ in VectorBuffer(count: EchoBlock.binCount) }
    }

    /// Adds the next block.
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

    /// Returns the spectrum of the transform that ended a number of blocks ago, and its power.
    func spectrum(before blocks: Int) -> (Spectrum, VectorBuffer) {
        let slot = (newest + EchoBlock.partCount - blocks) % EchoBlock.partCount
        return (spectra[slot], powers[slot])
    }
}
