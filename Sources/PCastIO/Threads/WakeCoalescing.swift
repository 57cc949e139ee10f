import PCastCore

/// The decision whether each item of other threads wakes a thread, or the thread looks for items at intervals.
///
/// Waking a thread costs more than processing most items. If items are few, each one wakes the thread. If they are many,
/// the thread looks for them every ``interval``, which is the maximum delay of an item.
struct WakeCoalescing: Sendable {
    /// The time between two looks while items are frequent.
    static let interval = TimeSpan.milliseconds(4)
    /// The time in which items are counted.
    static let window = TimeSpan.milliseconds(20)
    /// The number of items in a window that counts as many. They would wake the thread twice as often as the interval.
    static let many = 10
    /// The time for which items count as frequent after a window with many.
    static let memory = TimeSpan.milliseconds(100)

    /// The time of the next look; nil while each item wakes the thread.
    private(set) var next: Instant?
    private var windowStart: Instant?
    private var count = 0
    private var lastMany: Instant?

    /// Records that the thread has taken a number of items, possibly none, and decides about the next ones.
    mutating func taken(_ count: Int, at now: Instant) {
        if windowStart.map({ now - $0 >= Self.window }) ?? true { (windowStart, self.count) = (now, 0) }
        self.count += count
        if count > 0, self.count >= Self.many { lastMany = now }
        next = lastMany.flatMap { now - $0 < Self.memory ? now + Self.interval : nil }
    }
}
