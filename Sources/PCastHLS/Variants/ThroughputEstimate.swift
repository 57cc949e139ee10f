package import PCastCore

/// An estimate of the download throughput from the last segments.
///
/// It is the lower of the rates over the last two and the last eight seconds. So a decrease has an immediate effect, and an
/// increase only when it lasts. The time of a segment is that of its download; the time of a part is at least its duration,
/// because the parts of a fast link arrive in a small share of the time.
package struct ThroughputEstimate: Sendable {
    /// The kind of a download.
    package enum Transfer: Hashable, Sendable {
        /// A segment, from the request to the last byte.
        case segment
        /// A part with its duration, from the first byte to the last. `isPaced` is whether the server may send it while it is
        /// created. It then has the rate of the encoder.
        case part(duration: TimeSpan, isPaced: Bool = false)
    }

    /// One download.
    private struct Sample {
        var bits: Int64
        var span: TimeSpan
        /// The time that it represents.
        var weight: TimeSpan
    }

    private var samples: [Sample] = []
    /// The downloads of parts that are too small to count alone.
    private var small = Sample(bits: 0, span: .zero, weight: .zero)
    /// Whether the last download was a part, so that the measured time is a share of the whole.
    package private(set) var isOfParts = false

    /// The maximum number of remembered downloads.
    static let capacity = 64
    /// The time over which a decrease is detected.
    static let shortWindow = TimeSpan.seconds(2 as Int64)
    /// The time over which an increase must last.
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
    ///   - span: The time of the download.
    ///   - transfer: The kind of the download.
    package mutating func add(bytes: Int64, in span: TimeSpan, as transfer: Transfer = .segment) {
        guard bytes > 0, bytes <= 1 << 40 else { return }
        var sample = Sample(bits: bytes * 8, span: max(span, .zero), weight: .zero)
        var isPaced = false
        if case .part(let duration, let mayBePaced) = transfer {
            sample.weight = min(max(duration, .zero), Self.longWindow)
            // A part that takes longer than its duration is delayed by the link, and one that comes much sooner is not paced.
            isPaced = mayBePaced && span <= duration
            if isPaced, span * 2 > duration { return }
        }
        isOfParts = transfer != .segment
        if bytes < Self.minimumBytes {
            guard isOfParts else { return }
            small.bits += sample.bits
            small.span += sample.span
            small.weight += sample.weight
            guard small.bits >= Self.minimumBytes * 8 else { return }
            sample = small
            small = Sample(bits: 0, span: .zero, weight: .zero)
        }
        sample.span = min(max(sample.span, Self.minimumSpan), .seconds(3_600 as Int64))
        sample.weight = max(sample.weight, sample.span)
        if isPaced, let bitrate, Self.rate([sample]) <= bitrate { return }
        samples.append(sample)
        if samples.count > Self.capacity { samples.removeFirst() }
    }

    /// Adds a download that was canceled because it was slow, which replaces all earlier measurements.
    package mutating func addFragment(bytes: Int64, in span: TimeSpan) {
        guard (0...(1 << 40)).contains(bytes), span >= Self.minimumSpan else { return }
        // The earlier measurements reflect a faster link.
        let span = min(span, .seconds(3_600 as Int64))
        samples = [Sample(bits: max(bytes, 1) * 8, span: span, weight: span)]
        small = Sample(bits: 0, span: .zero, weight: .zero)
    }

    /// Returns the rate over the last downloads that cover a time; nil if there are none.
    private func rate(over window: TimeSpan) -> Bitrate? {
        var time = TimeSpan.zero
        let recent = samples.reversed().prefix { sample in
            defer { time += sample.weight }
            return time < window
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
