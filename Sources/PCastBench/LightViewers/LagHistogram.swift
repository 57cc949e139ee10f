import PCastCore

/// A histogram of latencies with buckets of one millisecond; its size does not depend on the number of samples.
struct LagHistogram: Sendable {
    /// The number of buckets; the last one includes longer latencies.
    private static let buckets = 1_000

    private var counts = [UInt32](repeating: 0, count: buckets)
    private(set) var count = 0

    mutating func add(_ lag: TimeSpan) {
        counts[min(max(0, Int(lag.milliseconds)), Self.buckets - 1)] += 1
        count += 1
    }

    mutating func add(_ others: LagHistogram) {
        for index in counts.indices { counts[index] += others.counts[index] }
        count += others.count
    }

    /// Returns the percentile for a share from 0 to 1 by the nearest-rank method, as the upper bound of its bucket in
    /// milliseconds; nil without samples.
    func percentile(_ share: Double) -> Double? {
        guard count > 0 else { return nil }
        var left = max(1, Int((share * Double(count)).rounded(.up)))
        for (index, bucket) in counts.enumerated() {
            left -= Int(bucket)
            if left <= 0 { return Double(index + 1) }
        }
        return Double(Self.buckets)
    }
}
