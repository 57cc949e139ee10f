package import PCastCore

/// A histogram of latencies in steps of 0.1 ms, of constant size. Latencies above two seconds count as two seconds.
package struct LatencyHistogram: Sendable {
    private static let step = TimeSpan.microseconds(100)
    private static let stepCount = 20_000

    private var counts = [UInt32](repeating: 0, count: Self.stepCount)
    /// The number of latencies.
    package private(set) var count = 0

    /// Creates an empty histogram.
    package init() {}

    /// Adds a latency.
    package mutating func add(_ latency: TimeSpan) {
        counts[Self.index(of: latency)] &+= 1
        count += 1
    }

    /// Removes a latency that was added.
    mutating func remove(_ latency: TimeSpan) {
        let index = Self.index(of: latency)
        precondition(counts[index] > 0, "only an added value may be removed")
        counts[index] -= 1
        count -= 1
    }

    private static func index(of latency: TimeSpan) -> Int {
        min(max(Int(latency.nanoseconds / step.nanoseconds), 0), stepCount - 1)
    }

    /// Removes all latencies.
    package mutating func removeAll() {
        guard count > 0 else { return }
        for index in counts.indices { counts[index] = 0 }
        count = 0
    }

    /// Returns the latency that a fraction of all latencies does not exceed, rounded up to 0.1 ms; 0.5 gives the
    /// median. Returns nil for an empty histogram.
    package func percentile(_ part: Double) -> TimeSpan? {
        guard count > 0 else { return nil }
        let rank = min(max(Int((part * Double(count)).rounded(.up)), 1), count)
        var seen = 0
        for (index, number) in counts.enumerated() {
            seen += Int(number)
            if seen >= rank { return Self.step * Int64(index + 1) }
        }
        return nil
    }
}
