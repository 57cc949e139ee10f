import PCastCore

/// The delays of a track's frames in the last ten seconds, with their minimum and quantiles.
///
/// It keeps all delays, while libwebrtc's NetEq uses a histogram with exponential forgetting (`delay_manager.cc`). At
/// 30 to 50 frames per second, the exact window is small enough.
struct DelayWindow {
    static let span = TimeSpan.seconds(10)

    /// The most delays, ten seconds at 100 frames per second. At higher rates the window is shorter.
    private static let capacity = 1024

    private var entries: [(instant: Instant, delay: Int64)] = []
    /// The index of the oldest entry.
    private var first = 0
    private var sorted: [Int64] = []

    init() {
        entries.reserveCapacity(Self.capacity)
        sorted.reserveCapacity(Self.capacity)
    }

    var count: Int { sorted.count }

    var minimum: TimeSpan? { sorted.first.map { TimeSpan.nanoseconds($0) } }

    /// Returns the delay that a fraction of the frames does not exceed; nil before the first.
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

    /// Subtracts a constant from all delays after their origin has changed.
    mutating func subtract(_ span: TimeSpan) {
        for index in entries.indices { entries[index].delay -= span.nanoseconds }
        for index in sorted.indices { sorted[index] -= span.nanoseconds }
    }

    private var oldest: (instant: Instant, delay: Int64)? { first < entries.count ? entries[first] : nil }

    private mutating func removeOldest() {
        sorted.remove(at: index(of: entries[first].delay))
        first += 1
    }

    /// Returns the index of the first delay that is not smaller.
    private func index(of delay: Int64) -> Int {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] < delay { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
