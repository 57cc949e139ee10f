/// The coherence of two signals by frequency: moving averages of their powers and of their cross-spectrum.
final class Coherence {
    /// The band in which speech is loud.
    private static let band = EchoBlock.bin(hertz: 200)..<EchoBlock.bin(hertz: 6_000)

    let cross = Spectrum(count: EchoBlock.binCount)
    let power = VectorBuffer(count: EchoBlock.binCount)
    let otherPower = VectorBuffer(count: EchoBlock.binCount)

    private let memory: Float

    /// Creates a coherence with zeros. `memory` is the weight of the previous average at each block.
    init(memory: Float) { self.memory = memory }

    func clear() {
        cross.clear()
        power.fill(0)
        otherPower.fill(0)
    }

    /// Adds the spectra of both signals for one block.
    func observe(_ spectrum: Spectrum, _ other: Spectrum) {
        let (kept, new) = (memory, 1 - memory)
        let (ar, ai, br, bi) = (spectrum.real, spectrum.imaginary, other.real, other.imaginary)
        for bin in 0..<EchoBlock.vectorCount {
            cross.real[bin] = kept * cross.real[bin] + new * (ar[bin] * br[bin] + ai[bin] * bi[bin])
            cross.imaginary[bin] = kept * cross.imaginary[bin] + new * (ai[bin] * br[bin] - ar[bin] * bi[bin])
            power.vectors[bin] = kept * power.vectors[bin] + new * (ar[bin] * ar[bin] + ai[bin] * ai[bin])
            otherPower.vectors[bin] = kept * otherPower.vectors[bin] + new * (br[bin] * br[bin] + bi[bin] * bi[bin])
        }
    }

    /// The fraction of the first signal's power that the second one explains, from 0 to 1.
    var share: Float {
        var (explained, all) = (Float(0), Float(1e3))
        for bin in Self.band {
            let (real, imaginary) = (cross.realFloats[bin], cross.imaginaryFloats[bin])
            explained += (real * real + imaginary * imaginary) / (otherPower.floats[bin] + 1)
            all += power.floats[bin]
        }
        return min(1, explained / all)
    }
}
