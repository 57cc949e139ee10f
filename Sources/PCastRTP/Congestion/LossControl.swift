import PCastMedia

/// The rate that loss allows: none but what the delay allows, while loss is not a sign of too much.
///
/// The thresholds are libwebrtc's (draft-ietf-rmcat-gcc-02, section 6): up by 8 % a second below 2 %, down by half the
/// loss above 10 %, each 300 ms and a round trip. They are meant of the loss beyond what the path loses anyway: what is
/// lost while no queue stands does not come from our rate, and a radio link that loses 10 % of everything would be
/// starved for nothing (CC15).
struct LossControl: Sendable {
    static let low = 0.02
    static let high = 0.10
    /// What a path may lose anyway, at most; more is taken for a sign of too much even without a queue.
    static let maximumInherent = 0.15
    /// A queue below this is none.
    static let queueThreshold = TimeSpan.milliseconds(30)
    /// Loss of this much tells where the limit is better than steps do.
    private static let severe = 0.25
    private static let decreaseInterval = TimeSpan.milliseconds(300)
    private static let window = TimeSpan.milliseconds(500)
    private static let windowPackets = 20
    private static let weight = 0.25

    /// Kilobits a second; nil while loss is no reason to send less.
    private(set) var limit: Double?
    /// Of the packets of the last windows, how many were lost.
    private(set) var rate = 0.0
    /// Of any packets, how many the path loses whatever is sent.
    private(set) var inherent = 0.0

    private var lost = 0
    private var expected = 0
    private var windowStart: Instant?
    private var hasRate = false
    private var decreasedAt: Instant?
    private var changedAt: Instant?

    /// Counts what a report tells; a packet that comes after it was reported lost is taken back by negative numbers.
    mutating func reported(lost: Int, expected: Int) {
        self.lost += lost
        self.expected += expected
    }

    /// Judges what was counted, once it is enough.
    ///
    /// - Parameters:
    ///   - target: what is sent at most now, in kilobits a second.
    ///   - queueDelay: nil when it cannot be measured; then loss alone has to tell.
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
        // What arrives is what the path carries: that tells where to go, and that there is no need to go further.
        let found = RateController.beta * acknowledged
        limit = fraction > Self.severe ? found : max(stepped, found)
    }

    private mutating func increase(target: Double, at now: Instant) {
        guard let limit, let changedAt else { return }
        let grown = limit * (1 + 0.08 * min((now - changedAt).seconds, 1)) + 1
        // Far above what the delay allows it is none any more.
        self.limit = grown > 1.5 * target ? nil : grown
    }

    /// A probe was carried at this rate.
    mutating func probed(_ kilobits: Double) {
        if let limit, limit < kilobits { self.limit = kilobits }
    }
}
