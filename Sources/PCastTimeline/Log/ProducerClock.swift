package import PCastCore

/// The difference between the clock of a game's producers and that of the platform, by the sending times that requests
/// state. It reads no clock; the caller passes the time.
///
/// A request arrives after it was sent, so a producer is ahead by at least the difference of the two times. The request
/// with the shortest delay is the most accurate one. Thus a producer whose requests take long seems to be behind, which
/// has the same effect: the platform records its events late.
package struct ProducerClock: Hashable, Sendable {
    /// The difference above which a producer is reported, because its events appear with other frames.
    package static let tolerance = TimeSpan.milliseconds(200)

    /// The number of recent requests that count, and the time for which they do. A clock that is corrected is soon
    /// measured again.
    package static let capacity = 16
    package static let lifetime = TimeSpan.seconds(300)

    /// The difference as which any larger one counts.
    private static let longestDifference = TimeSpan.seconds(86_400 * 365)

    private struct Sample: Hashable {
        /// The difference if the request took no time, as a range because the stated time was rounded down.
        var lowest: TimeSpan
        var highest: TimeSpan
        var receivedAt: WallTime
    }

    private var samples: [Sample] = []

    /// Creates a comparison without requests.
    package init() {}

    /// Adds a request. `sentAt` is its time by the producer's clock, which was rounded down to `precision`, and
    /// `receivedAt` its arrival by the platform's.
    package mutating func observe(sentAt: WallTime, precision: TimeSpan, receivedAt: WallTime) {
        // A producer may state any time.
        let bound = Self.longestDifference
        let lowest = min(max(sentAt.span(since: receivedAt) ?? bound, .zero - bound), bound)
        samples.removeAll { (receivedAt - $0.receivedAt).magnitude > Self.lifetime }
        if samples.count == Self.capacity { samples.removeFirst() }
        samples.append(Sample(lowest: lowest, highest: lowest + precision, receivedAt: receivedAt))
    }

    /// The time by which the producer's clock is ahead of the platform's at least; negative if it is behind, zero if the
    /// clocks may be equal, and nil without a request.
    package var difference: TimeSpan? {
        guard let lowest = samples.map(\.lowest).max(), let highest = samples.map(\.highest).max() else { return nil }
        if lowest > .zero { return lowest }
        return min(highest, .zero)
    }

    /// Whether the difference is above the tolerance.
    package var isOff: Bool { (difference ?? .zero).magnitude > Self.tolerance }
}
