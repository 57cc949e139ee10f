/// An echo path from the speakers to a microphone: its impulse response in partitions of a block's length, as spectra.
final class EchoPath {
    let parts: [Spectrum]

    init() { parts = (0..<EchoBlock.partCount).map { _ in Spectrum(count: EchoBlock.binCount) } }

    /// Computes the spectrum of the predicted echo. Its last block of samples is valid.
    func apply(to far: FarEnd, into target: Spectrum) {
        target.clear()
        for (index, part) in parts.enumerated() {
            let (audio, _) = far.spectrum(before: index)
            let (sr, si, pr, pi) = (audio.real, audio.imaginary, part.real, part.imaginary)
            let (tr, ti) = (target.real, target.imaginary)
            for bin in 0..<EchoBlock.vectorCount {
                tr[bin] += sr[bin] * pr[bin] - si[bin] * pi[bin]
                ti[bin] += sr[bin] * pi[bin] + si[bin] * pr[bin]
            }
        }
    }

    /// Moves a partition towards that of another path by a fraction.
    func follow(_ other: EchoPath, part index: Int, share: Float) {
        let (mine, its) = (parts[index], other.parts[index])
        for bin in 0..<EchoBlock.vectorCount {
            mine.real[bin] += share * (its.real[bin] - mine.real[bin])
            mine.imaginary[bin] += share * (its.imaginary[bin] - mine.imaginary[bin])
        }
    }

    func clear() { for part in parts { part.clear() } }
}
