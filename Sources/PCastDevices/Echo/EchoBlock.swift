import PCastMedia

/// In what pieces echoes are cancelled: what the filter, the suppressor and their driver agree on.
enum EchoBlock {
    /// Samples that are filtered at a time, 5 ms: the shorter, the faster the filter learns, and the more it costs.
    static let sampleCount = 240

    /// Samples of a transform: a block, what the part of an echo's path that is as long reaches back to, and a few
    /// more.
    static let transformLength = 512

    /// Frequencies of a transform, 93.75 Hz apart. The last one, half the sampling rate, is left out: no microphone
    /// hears it.
    static let binCount = transformLength / 2

    /// The same in vectors of eight.
    static let vectorCount = binCount / 8

    /// Parts of a block's length in which the path of an echo is learnt, 130 ms in all.
    static let partCount = 26

    static let length = ClockRate.opus.span(ofTicks: Int64(sampleCount))

    /// Blocks in a second.
    static let rate = Float(AudioFrame.sampleRate) / Float(sampleCount)

    static let binWidth = Float(AudioFrame.sampleRate) / Float(transformLength)

    /// The bin of a frequency.
    static func bin(hertz: Float) -> Int { Int((hertz / binWidth).rounded()) }
}
