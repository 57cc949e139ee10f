import PCastCore

/// The block sizes that all parts of the echo canceller share.
enum EchoBlock {
    /// The number of samples per block, 5 ms. Shorter blocks adapt faster and cost more.
    static let sampleCount = 240

    /// The length of a transform: a block, a path partition of the same length, and some extra samples.
    static let transformLength = 512

    /// The number of frequency bins, 93.75 Hz apart. The bin at half the sample rate is omitted, because microphones do
    /// not capture it.
    static let binCount = transformLength / 2

    /// The number of vectors of eight bins.
    static let vectorCount = binCount / 8

    /// The number of path partitions, 130 ms in total.
    static let partCount = 26

    static let length = ClockRate.opus.span(ofTicks: Int64(sampleCount))

    /// The number of blocks per second.
    static let rate = Float(AudioFrame.sampleRate) / Float(sampleCount)

    static let binWidth = Float(AudioFrame.sampleRate) / Float(transformLength)

    /// Returns the bin of a frequency.
    static func bin(hertz: Float) -> Int { Int((hertz / binWidth).rounded()) }
}

/// The most recent captured blocks.
final class BlockHistory {
    /// The number of blocks, 400 ms.
    static let capacity = 80

    private let blocks = VectorBuffer(count: EchoBlock.sampleCount * BlockHistory.capacity)
    private var next = 0

    /// The number of stored blocks.
    private(set) var count = 0

    func append(_ block: VectorBuffer) {
        blocks.replace(at: next * EchoBlock.sampleCount, with: block)
        next = (next + 1) % Self.capacity
        count = min(count + 1, Self.capacity)
    }

    /// Copies a block. The newest one has the index 1.
    func copy(_ ago: Int, into block: VectorBuffer) {
        precondition(ago >= 1 && ago <= count)
        let slot = (next + Self.capacity - ago) % Self.capacity
        block.floats.update(from: blocks.floats + slot * EchoBlock.sampleCount, count: EchoBlock.sampleCount)
    }

    /// Discards all blocks before audio that is not contiguous.
    func removeAll() { count = 0 }
}

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
