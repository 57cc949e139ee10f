import PCastMedia

/// How long packets wait on the path: their delay beyond the least of the last minute, which is the path's own.
struct QueueDelay: Sendable {
    private static let span = TimeSpan.seconds(Int64(30))
    private static let weight: Int64 = 4
    /// No queue is longer; a clock that leapt is.
    private static let longest = TimeSpan.seconds(Int64(30))

    /// The least delays of this half of the minute and of the one before, by clocks that do not agree.
    private var current: TimeSpan?
    private var previous: TimeSpan?
    private var turned: TimeSpan?
    /// Of the last packet.
    private(set) var latest = TimeSpan.zero
    /// Smoothed; nil before the first packet.
    private(set) var value: TimeSpan?

    mutating func arrived(sentAt: Instant, arrival: TimeSpan) {
        let delay = TimeSpan(nanoseconds: arrival.nanoseconds - sentAt.nanoseconds)
        if let turned, arrival - turned < Self.span {
            current = min(current ?? delay, delay)
        } else {
            previous = turned == nil ? nil : current
            current = delay
            turned = arrival
        }
        let queued = min(delay - min(current ?? delay, previous ?? delay), Self.longest)
        latest = queued
        value = value.map { $0 + (queued - $0) / Self.weight } ?? queued
    }
}
