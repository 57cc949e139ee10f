import PCastMedia

/// How long something took, each time that it was done: counts below bounds, as Prometheus takes them.
struct Histogram: Sendable, Hashable {
    /// Upper bounds, the lowest first.
    let bounds: [TimeSpan]
    /// Of each bound those above the bound before, and at last those above all.
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

    /// All.
    var count: Int { counts.reduce(0, +) }

    /// Those that took no longer than each bound.
    var cumulative: [(bound: TimeSpan, count: Int)] {
        var total = 0
        return zip(bounds, counts).map { bound, count in
            total += count
            return (bound, total)
        }
    }
}
