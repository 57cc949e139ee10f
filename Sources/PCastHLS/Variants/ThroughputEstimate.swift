public import PCastMedia

/// How fast the network brings segments, by those that came last.
///
/// Bits by time over what took the last two seconds of downloading, and over the last eight: the lower of the two, so that a
/// fall is believed at once and a rise only when it lasts.
public struct ThroughputEstimate: Sendable {
    private struct Sample {
        var bits: Int64
        var span: TimeSpan
    }

    private var samples: [Sample] = []

    static let capacity = 64
    static let shortWindow = TimeSpan.seconds(2 as Int64)
    static let longWindow = TimeSpan.seconds(8 as Int64)
    /// What is smaller says more of the round trip than of the rate.
    static let leastBytes: Int64 = 16 << 10
    /// What is quicker came out of a cache on the way, or a buffer.
    static let leastSpan = TimeSpan.milliseconds(10)

    public init() {}

    /// nil before anything was measured.
    public var bitrate: Bitrate? {
        guard let short = rate(over: Self.shortWindow), let long = rate(over: Self.longWindow) else { return nil }
        return min(short, long)
    }

    /// - Parameters:
    ///   - bytes: How much came.
    ///   - span: From its first byte to its last.
    ///   - isPaced: The server sent it as it was made, as it does with parts that were asked for before they were there. Then
    ///     it says how fast the encoder is, and only what is faster than what was known counts.
    public mutating func add(bytes: Int64, in span: TimeSpan, isPaced: Bool = false) {
        guard bytes >= Self.leastBytes, bytes <= 1 << 40 else { return }
        let span = min(max(span, Self.leastSpan), .seconds(3_600 as Int64))
        let sample = Sample(bits: bytes * 8, span: span)
        if isPaced, let bitrate, Self.rate([sample]) <= bitrate { return }
        samples.append(sample)
        if samples.count > Self.capacity { samples.removeFirst() }
    }

    /// What came of a download that was left off because it was too slow: then little means that little comes.
    public mutating func addFragment(bytes: Int64, in span: TimeSpan) {
        guard (0...(1 << 40)).contains(bytes), span >= Self.leastSpan else { return }
        // The earlier ones were of another link.
        samples = [Sample(bits: max(bytes, 1) * 8, span: min(span, .seconds(3_600 as Int64)))]
    }

    private func rate(over window: TimeSpan) -> Bitrate? {
        var span = TimeSpan.zero
        let recent = samples.reversed().prefix { sample in
            defer { span += sample.span }
            return span < window
        }
        return recent.isEmpty ? nil : Self.rate(Array(recent))
    }

    private static func rate(_ samples: [Sample]) -> Bitrate {
        let bits = samples.reduce(0) { $0 + $1.bits }
        let span = samples.reduce(TimeSpan.zero) { $0 + $1.span }
        return Bitrate(bitsPerSecond: Int64(Double(bits) / span.seconds))
    }
}
