import PCastCore

/// The queuing delay of packets on the path: their delay minus the minimum delay of the last minute.
struct QueueDelay: Sendable {
    /// The duration of each of the two intervals over which the minimum is taken.
    private static let span = TimeSpan.seconds(Int64(30))
    /// The divisor of a sample in the smoothed delay.
    private static let weight: Int64 = 4
    /// The maximum queuing delay. A higher value comes from a step of a clock.
    private static let longest = TimeSpan.seconds(Int64(30))

    /// The minimum delay of the current interval, between the clocks of both sides.
    private var current: TimeSpan?
    /// The minimum delay of the interval before.
    private var previous: TimeSpan?
    /// The beginning of the current interval.
    private var intervalStart: TimeSpan?
    /// The queuing delay of the last packet.
    private(set) var latest = TimeSpan.zero
    /// The smoothed queuing delay; nil before the first packet, and after a time without feedback.
    private(set) var value: TimeSpan?

    /// The minimum and maximum delay of the current second and its beginning.
    private var interval: (least: TimeSpan, most: TimeSpan, start: TimeSpan)?
    /// The number of consecutive seconds with a nearly constant delay.
    private var stableIntervals = 0
    /// The duration of the measurement.
    private static let stretchTime = TimeSpan.seconds(Int64(1))
    /// The range of the delay on an unloaded path: less than the duration of one packet on a path where a queue can
    /// last.
    private static let stableRange = TimeSpan.milliseconds(3)

    /// Adapts the minimum to a new path. A nearly constant delay is that of the path itself, because a queue changes
    /// with each packet.
    private mutating func learn(_ delay: TimeSpan, at arrival: TimeSpan) {
        guard var running = interval else { return interval = (delay, delay, arrival) }
        running.least = min(running.least, delay)
        running.most = max(running.most, delay)
        interval = running
        guard arrival - running.start >= Self.stretchTime else { return }
        stableIntervals = running.most - running.least < Self.stableRange ? stableIntervals + 1 : 0
        interval = (delay, delay, arrival)
        guard stableIntervals >= 2 else { return }
        current = running.least
        previous = nil
    }

    /// Forgets the queuing delay, but not the minimum delay of the path.
    mutating func resetQueueDelay() { value = nil }

    /// Adds packets that were sent and arrived at the same time.
    mutating func arrived(sentAt: Instant, arrival: TimeSpan, count: Int = 1) {
        let delay = TimeSpan(nanoseconds: arrival.nanoseconds - sentAt.nanoseconds)
        if let intervalStart, arrival - intervalStart < Self.span {
            current = min(current ?? delay, delay)
        } else {
            previous = intervalStart == nil ? nil : current
            current = delay
            intervalStart = arrival
        }
        learn(delay, at: arrival)
        let queued = min(delay - min(current ?? delay, previous ?? delay), Self.longest)
        latest = queued
        for _ in 0..<count { value = value.map { $0 + (queued - $0) / Self.weight } ?? queued }
    }
}
