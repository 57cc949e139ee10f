import PCastCore

/// A histogram of durations with Prometheus' cumulative buckets.
struct Histogram: Sendable, Hashable {
    /// The upper bounds of the buckets, lowest first.
    let bounds: [TimeSpan]
    /// The counts between the bounds. The last one is for durations above all bounds.
    private(set) var counts: [Int]
    private(set) var sum = TimeSpan.zero

    init(milliseconds bounds: [Int64]) {
        self.bounds = bounds.map { .milliseconds($0) }
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    mutating func add(_ span: TimeSpan) {
        counts[bounds.firstIndex { span <= $0 } ?? bounds.count] += 1
        sum = sum + span
    }

    /// The number of all durations.
    var count: Int { counts.reduce(0, +) }

    /// The number of durations up to each bound.
    var cumulative: [(bound: TimeSpan, count: Int)] {
        var total = 0
        return zip(bounds, counts).map { bound, count in
            total += count
            return (bound, total)
        }
    }
}
