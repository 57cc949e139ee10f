package import PCastCore

/// An estimate of the download throughput from the last segments.
///
/// It is the lower of the rates over the last two and the last eight seconds of download time. So a decrease has an
/// immediate effect, and an increase only when it lasts.
package struct ThroughputEstimate: Sendable {
    /// One download.
    private struct Sample {
        var bits: Int64
        var span: TimeSpan
    }

    private var samples: [Sample] = []
    /// The downloads of parts that are too small to count alone.
    private var small = Sample(bits: 0, span: .zero)

    /// The maximum number of remembered downloads.
    static let capacity = 64
    /// The download time over which a decrease is detected.
    static let shortWindow = TimeSpan.seconds(2 as Int64)
    /// The download time over which an increase must last.
    static let longWindow = TimeSpan.seconds(8 as Int64)
    /// The smallest download in bytes that counts. A smaller one measures the round-trip time rather than the rate.
    static let minimumBytes: Int64 = 16 << 10
    /// The shortest time of a download. A shorter one came from a cache or buffer, so this time is used instead.
    static let minimumSpan = TimeSpan.milliseconds(10)

    /// Creates an estimate without measurements.
    package init() {}

    /// The throughput; nil before the first measurement.
    package var bitrate: Bitrate? {
        guard let short = rate(over: Self.shortWindow), let long = rate(over: Self.longWindow) else { return nil }
        return min(short, long)
    }

    /// Adds a completed download.
    ///
    /// - Parameters:
    ///   - bytes: The number of bytes received.
    ///   - span: The time from the first to the last byte.
    ///   - isPaced: Whether the server sent the data while it was created, e.g. a part that was requested in advance.
    ///     The rate is then that of the encoder, so the download counts only if it is faster than the estimate.
    package mutating func add(bytes: Int64, in span: TimeSpan, isPaced: Bool = false) {
        guard bytes > 0, bytes <= 1 << 40 else { return }
        var sample = Sample(bits: bytes * 8, span: span)
        if bytes < Self.minimumBytes {
            guard isPaced else { return }
            small.bits += sample.bits
            small.span += max(span, .zero)
            guard small.bits >= Self.minimumBytes * 8 else { return }
            sample = small
            small = Sample(bits: 0, span: .zero)
        }
        sample.span = min(max(sample.span, Self.minimumSpan), .seconds(3_600 as Int64))
        if isPaced, let bitrate, Self.rate([sample]) <= bitrate { return }
        samples.append(sample)
        if samples.count > Self.capacity { samples.removeFirst() }
    }

    /// Adds a download that was canceled because it was slow, which replaces all earlier measurements.
    package mutating func addFragment(bytes: Int64, in span: TimeSpan) {
        guard (0...(1 << 40)).contains(bytes), span >= Self.minimumSpan else { return }
        // The earlier measurements reflect a faster link.
        samples = [Sample(bits: max(bytes, 1) * 8, span: min(span, .seconds(3_600 as Int64)))]
    }

    /// Returns the rate over the last downloads that cover a download time; nil if there are none.
    private func rate(over window: TimeSpan) -> Bitrate? {
        var span = TimeSpan.zero
        let recent = samples.reversed().prefix { sample in
            defer { span += sample.span }
            return span < window
        }
        return recent.isEmpty ? nil : Self.rate(Array(recent))
    }

    /// Returns the rate of downloads together.
    private static func rate(_ samples: [Sample]) -> Bitrate {
        let bits = samples.reduce(0) { $0 + $1.bits }
        let span = samples.reduce(TimeSpan.zero) { $0 + $1.span }
        return Bitrate(bitsPerSecond: Int64(Double(bits) / span.seconds))
    }
}
