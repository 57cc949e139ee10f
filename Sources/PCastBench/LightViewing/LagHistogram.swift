import PCastMedia

/// Lags in milliseconds, counted in buckets of one, so that hours of them take no more room than a second's.
struct LagHistogram: Sendable {
    /// What took longer stands in the last bucket.
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

    /// By nearest rank, the bucket's upper end; nil of nothing.
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
