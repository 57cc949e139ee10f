import PCastCore

/// A bounded history of durations with their times. The oldest is replaced.
struct RecentSpans {
    private var entries: [(instant: Instant, span: TimeSpan)] = []
    private var next = 0
    private let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
        entries.reserveCapacity(capacity)
    }

    mutating func add(_ span: TimeSpan, at now: Instant) {
        if entries.count < capacity {
            entries.append((now, span))
        } else {
            entries[next] = (now, span)
        }
        next = (next + 1) % capacity
    }

    /// Returns a percentile of the durations since a time; of all if it is nil. Returns nil if there are none.
    func percentile(_ part: Double, since start: Instant? = nil) -> TimeSpan? {
        let spans = entries.filter { start == nil || $0.instant >= start! }.map(\.span).sorted()
        guard !spans.isEmpty else { return nil }
        return spans[min(Int(part * Double(spans.count)), spans.count - 1)]
    }
}
