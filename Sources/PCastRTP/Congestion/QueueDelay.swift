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
    /// Smoothed; nil before the first packet, and before the first after a silence.
    private(set) var value: TimeSpan?

    /// The least and the most of the last stretch, when it began, and how many were as even before it.
    private var stretch: (least: TimeSpan, most: TimeSpan, start: TimeSpan)?
    private var evenStretches = 0
    private static let stretchTime = TimeSpan.seconds(Int64(1))
    /// Less than one packet takes on a path that a queue can stand on for long.
    private static let evenness = TimeSpan.milliseconds(3)

    /// A delay that does not vary at all is the path's own: it goes another way than before. A queue moves with each packet
    /// that joins it.
    private mutating func learn(_ delay: TimeSpan, at arrival: TimeSpan) {
        guard var running = stretch else { return stretch = (delay, delay, arrival) }
        running.least = min(running.least, delay)
        running.most = max(running.most, delay)
        stretch = running
        guard arrival - running.start >= Self.stretchTime else { return }
        evenStretches = running.most - running.least < Self.evenness ? evenStretches + 1 : 0
        stretch = (delay, delay, arrival)
        guard evenStretches >= 2 else { return }
        current = running.least
        previous = nil
    }

    /// Nothing is known of what stands on the path at the moment; its own delay is.
    mutating func forgetStanding() { value = nil }

    /// - Parameter count: of packets that left and arrived at once.
    mutating func arrived(sentAt: Instant, arrival: TimeSpan, count: Int = 1) {
        let delay = TimeSpan(nanoseconds: arrival.nanoseconds - sentAt.nanoseconds)
        if let turned, arrival - turned < Self.span {
            current = min(current ?? delay, delay)
        } else {
            previous = turned == nil ? nil : current
            current = delay
            turned = arrival
        }
        learn(delay, at: arrival)
        let queued = min(delay - min(current ?? delay, previous ?? delay), Self.longest)
        latest = queued
        for _ in 0..<count { value = value.map { $0 + (queued - $0) / Self.weight } ?? queued }
    }
}
