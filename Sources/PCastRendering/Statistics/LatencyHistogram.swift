public import PCastMedia

/// Counts of latencies in steps of 0.1 ms up to two seconds, in memory that does not grow; what is longer counts as
/// the longest.
public struct LatencyHistogram: Sendable {
    private static let step = TimeSpan.microseconds(100)
    private static let stepCount = 20_000

    private var counts = [UInt32](repeating: 0, count: Self.stepCount)
    public private(set) var count = 0

    public init() {}

    public mutating func add(_ latency: TimeSpan) {
        counts[Self.index(of: latency)] &+= 1
        count += 1
    }

    /// Takes back a latency that was added.
    mutating func remove(_ latency: TimeSpan) {
        let index = Self.index(of: latency)
        precondition(counts[index] > 0, "only what was added is taken back")
        counts[index] -= 1
        count -= 1
    }

    private static func index(of latency: TimeSpan) -> Int {
        min(max(Int(latency.nanoseconds / step.nanoseconds), 0), stepCount - 1)
    }

    public mutating func removeAll() {
        guard count > 0 else { return }
        for index in counts.indices { counts[index] = 0 }
        count = 0
    }

    /// The latency that this part of all does not exceed, to 0.1 ms upward; nil when there are none.
    ///
    /// - Parameter part: 0.5 for the median.
    public func percentile(_ part: Double) -> TimeSpan? {
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
