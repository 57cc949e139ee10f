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
