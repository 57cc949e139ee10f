import PCastMedia

/// The delays of a track's frames in the last ten seconds: the least of them, and the one that a part of them keeps to.
///
/// A plain count over a window, where libwebrtc's NetEq has a histogram that forgets by a factor (delay_manager.cc): at 30
/// to 50 frames a second it is small enough to be exact.
struct DelayWindow {
    static let span = TimeSpan.seconds(10)

    /// More frames than that come in no ten seconds of 100 a second; then the window is shorter.
    private static let capacity = 1024

    private var entries: [(instant: Instant, delay: Int64)] = []
    /// Where the oldest entry stands.
    private var first = 0
    private var sorted: [Int64] = []

    init() {
        entries.reserveCapacity(Self.capacity)
        sorted.reserveCapacity(Self.capacity)
    }

    var count: Int { sorted.count }

    var minimum: TimeSpan? { sorted.first.map { TimeSpan.nanoseconds($0) } }

    /// The delay that this part of the frames does not exceed; nil before the first.
    func quantile(_ part: Double) -> TimeSpan? {
        guard !sorted.isEmpty else { return nil }
        let rank = Int((part * Double(sorted.count)).rounded(.up))
        return .nanoseconds(sorted[min(max(rank, 1), sorted.count) - 1])
    }

    mutating func add(_ delay: TimeSpan, at now: Instant) {
        while let oldest, now - oldest.instant > Self.span || count == Self.capacity { removeOldest() }
        if first > 0, entries.count == Self.capacity {
            entries.removeFirst(first)
            first = 0
        }
        entries.append((now, delay.nanoseconds))
        sorted.insert(delay.nanoseconds, at: index(of: delay.nanoseconds))
    }

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        sorted.removeAll(keepingCapacity: true)
        first = 0
    }

    /// Every delay was counted from an origin that much too early.
    mutating func subtract(_ span: TimeSpan) {
        for index in entries.indices { entries[index].delay -= span.nanoseconds }
        for index in sorted.indices { sorted[index] -= span.nanoseconds }
    }

    private var oldest: (instant: Instant, delay: Int64)? { first < entries.count ? entries[first] : nil }

    private mutating func removeOldest() {
        sorted.remove(at: index(of: entries[first].delay))
        first += 1
    }

    /// Of the first that is not less.
    private func index(of delay: Int64) -> Int {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] < delay { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
