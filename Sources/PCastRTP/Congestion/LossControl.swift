import PCastCore

/// The limit of the bit rate by loss.
///
/// The thresholds are those of libwebrtc (draft-ietf-rmcat-gcc-02, section 6). Below 2 % loss, the limit increases by
/// 8 % per second. Above 10 %, it decreases by half the loss, at most once in 300 ms plus a round-trip time. The
/// thresholds apply to the loss beyond that of the idle path. Loss without a queue does not depend on the bit rate, and
/// a radio link that always loses 10 % would otherwise be starved.
struct LossControl: Sendable {
    /// The loss rate below which the limit increases.
    static let low = 0.02
    /// The loss rate above which the limit decreases.
    static let high = 0.10
    /// The maximum loss rate that is attributed to the idle path. Higher loss is considered congestion even without a
    /// queue.
    static let maximumInherent = 0.15
    /// The queuing delay below which there is no queue.
    static let queueThreshold = TimeSpan.milliseconds(30)
    /// The loss rate above which the limit is set to the arriving bit rate instead of being reduced in steps.
    private static let severe = 0.25
    /// The minimum time between decreases, to which the round-trip time is added.
    private static let decreaseInterval = TimeSpan.milliseconds(300)
    /// The minimum duration of a measurement.
    private static let window = TimeSpan.milliseconds(500)
    /// The minimum number of packets of a measurement.
    private static let windowPackets = 20
    /// The weight of a measurement in averages.
    private static let weight = 0.25

    /// The limit in kilobits per second; nil if loss does not limit the bit rate.
    private(set) var limit: Double?
    /// The average loss rate of recent packets, from 0 to 1.
    private(set) var rate = 0.0
    /// The average loss rate without a queue, from 0 to 1.
    private(set) var inherent = 0.0

    private var lost = 0
    private var expected = 0
    private var windowStart: Instant?
    private var hasRate = false
    private var decreasedAt: Instant?
    private var changedAt: Instant?

    /// Adds the counts of a report. Negative numbers take back a packet that arrived after it was reported lost.
    mutating func reported(lost: Int, expected: Int) {
        self.lost += lost
        self.expected += expected
    }

    /// Updates the limit if enough packets were counted.
    ///
    /// - Parameters:
    ///   - target: The present target in kilobits per second.
    ///   - acknowledged: The arriving bit rate in kilobits per second; nil if it is unknown.
    ///   - queueDelay: The queuing delay; nil if it is unknown, and loss alone decides.
    ///   - roundTrip: The round-trip time.
    ///   - now: The current time.
    mutating func update(
        target: Double, acknowledged: Double?, queueDelay: TimeSpan?, roundTrip: TimeSpan, at now: Instant
    ) {
        let start = windowStart ?? now
        windowStart = start
        guard now - start >= Self.window, expected >= Self.windowPackets else { return }
        let fraction = min(max(Double(lost) / Double(expected), 0), 1)
        lost = 0
        expected = 0
        windowStart = now
        rate = hasRate ? rate + Self.weight * 2 * (fraction - rate) : fraction
        hasRate = true
        let hasQueue = queueDelay.map { $0 > Self.queueThreshold } ?? true
        if !hasQueue || fraction < inherent {
            inherent = min(inherent + Self.weight * (fraction - inherent), Self.maximumInherent)
        }
        let excess = fraction - inherent
        if excess > Self.high {
            decrease(fraction, target: target, acknowledged: acknowledged, roundTrip: roundTrip, at: now)
        } else if excess > Self.low {
            if hasQueue { limit = limit ?? target }
        } else {
            increase(target: target, at: now)
        }
        changedAt = now
    }

    /// Decreases the limit, at most once in 300 ms plus a round-trip time.
    private mutating func decrease(
        _ fraction: Double, target: Double, acknowledged: Double?, roundTrip: TimeSpan, at now: Instant
    ) {
        if let decreasedAt, now - decreasedAt < Self.decreaseInterval + roundTrip { return }
        decreasedAt = now
        let stepped = min(limit ?? target, target) * (1 - fraction / 2)
        guard let acknowledged else {
            limit = stepped
            return
        }
        // The arriving bit rate is the capacity of the path, so a lower limit is not needed.
        let found = RateController.beta * acknowledged
        limit = fraction > Self.severe ? found : max(stepped, found)
    }

    /// Increases the limit by 8 % per second.
    private mutating func increase(target: Double, at now: Instant) {
        guard let limit, let changedAt else { return }
        let grown = limit * (1 + 0.08 * min((now - changedAt).seconds, 1)) + 1
        // A limit far above the target has no effect and is removed.
        self.limit = grown > 1.5 * target ? nil : grown
    }

    /// Raises the limit to the bit rate that a probe measured, in kilobits per second.
    mutating func probed(_ kilobits: Double) {
        if let limit, limit < kilobits { self.limit = kilobits }
    }
}
