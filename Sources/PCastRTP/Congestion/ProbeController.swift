import PCastCore

/// Decides when to probe the path, and at which rate.
///
/// It follows libwebrtc's `ProbeController`. The first probes have 3 and 6 times the estimate. Further probes have
/// twice the estimate, while 70 % of the last probe was measured. While the application is limited, a probe with twice
/// the estimate is sent every 5 s.
///
/// In addition, a path that is fully used but carries less than wanted is probed every few seconds. Without a probe,
/// growth by 8 % per second would take half a minute from 0.8 to 4 Mbit/s.
struct ProbeController: Sendable {
    /// The factors of the first two probes.
    static let initialFactors = (3.0, 6.0)
    /// The factor of further probes.
    static let furtherFactor = 2.0
    /// The factor of probes on a fully used path, which is lower because the excess is queued there.
    static let usedFactor = 1.5
    /// The share of a probe's rate that the estimate must reach for another probe.
    static let furtherThreshold = 0.7
    /// The same share on a fully used path.
    static let usedThreshold = 0.9
    /// The interval of probes while the application is limited.
    static let limitedInterval = TimeSpan.seconds(Int64(5))
    /// The interval of probes while the estimate is far below the wanted bit rate, e.g. only audio is sent. Video then
    /// resumes soon after the path recovers.
    static let starvedInterval = TimeSpan.milliseconds(1_500)
    /// The share of the wanted bit rate and the absolute rate, in kilobits per second, below which this interval
    /// applies.
    private static let starvation = (share: 0.2, kilobits: 250.0)
    /// The interval of probes on a fully used path, which grows after each probe that found nothing.
    static let usedIntervals = (shortest: TimeSpan.seconds(Int64(4)), longest: TimeSpan.seconds(Int64(8)))
    /// The time after which a probe has no result.
    private static let timeout = TimeSpan.seconds(Int64(1))

    /// The factor of the wanted bit rate up to which the path is probed.
    static let headroom = 2.0

    private enum State {
        /// Probing has not begun.
        case waiting
        /// A probe was sent. Another follows if the estimate exceeds `threshold`.
        case measuring(threshold: Double, until: Instant)
        /// No probe is being measured.
        case idle
    }

    private var state = State.waiting
    /// The rates of the probes to send, in kilobits per second; the second is 0 for none.
    private var pending: (first: Double, second: Double)?
    private var lastID: UInt16 = 0
    /// The time of the last probe.
    private var probedAt: Instant?
    /// The estimate at the last probe, in kilobits per second.
    private var before = 0.0
    /// The time of the last update.
    private var updatedAt: Instant?
    /// Whether the estimate is high enough, so that no probe is needed.
    private var isSatisfied = false
    /// The present interval of probes on a fully used path.
    private var usedInterval = Self.usedIntervals.shortest

    private(set) var hasBegun = false

    /// Returns the next probe to send; nil if there is none.
    mutating func poll() -> ProbeCluster? {
        guard let next = pending else { return nil }
        pending = next.second > 0 ? (next.second, 0) : nil
        lastID = lastID == .max ? 1 : lastID + 1
        return ProbeCluster(id: lastID, rate: Bitrate(kilobits: next.first))
    }

    /// Begins probing when feedback arrives for the first time. Rates are in kilobits per second.
    mutating func begin(estimate: Double, ceiling: Double, at now: Instant) {
        hasBegun = true
        probe(
            Self.initialFactors.0 * estimate, Self.initialFactors.1 * estimate, estimate: estimate,
            ceiling: ceiling, at: now)
    }

    /// Schedules one or two probes, if they exceed the estimate.
    private mutating func probe(
        _ first: Double, _ second: Double = 0, estimate: Double, ceiling: Double,
        threshold: Double = Self.furtherThreshold, at now: Instant
    ) {
        probedAt = now
        let lower = min(first, ceiling)
        guard lower > estimate else {
            state = .idle
            return
        }
        let upper = first < ceiling ? min(second, ceiling) : 0
        pending = (lower, upper)
        before = estimate
        let highest = max(lower, upper)
        state =
            highest >= ceiling
            ? .idle : .measuring(threshold: threshold * highest, until: now + Self.timeout)
    }

    /// Updates the state after a feedback message. Rates are in kilobits per second.
    ///
    /// - Parameters:
    ///   - estimate: The present estimate.
    ///   - wanted: The wanted bit rate.
    ///   - ceiling: The highest rate to probe for.
    ///   - isLimited: Whether the application is limited.
    ///   - mayRise: Whether no congestion prevents a probe.
    ///   - now: The current time.
    mutating func update(
        estimate: Double, wanted: Double, ceiling: Double, isLimited: Bool, mayRise: Bool, at now: Instant
    ) {
        guard hasBegun, pending == nil else { return }
        updatedAt = now
        isSatisfied = estimate >= (isLimited ? 0.9 * ceiling : wanted)
        if case .measuring(let threshold, let until) = state {
            if estimate > threshold {
                probe(Self.furtherFactor * estimate, estimate: estimate, ceiling: ceiling, at: now)
                return
            }
            guard now >= until else { return }
            state = .idle
        }
        guard mayRise, let probedAt else { return }
        if estimate < min(max(Self.starvation.share * wanted, Self.starvation.kilobits), wanted) {
            guard now - probedAt >= Self.starvedInterval else { return }
            probe(Self.furtherFactor * estimate, estimate: estimate, ceiling: ceiling, at: now)
        } else if isLimited {
            guard now - probedAt >= Self.limitedInterval, !isSatisfied else { return }
            probe(Self.furtherFactor * estimate, estimate: estimate, ceiling: ceiling, at: now)
        } else {
            guard !isSatisfied, now - probedAt >= usedInterval else { return }
            let foundNothing = estimate < 1.2 * before
            let longer = min(usedInterval * 3 / 2, Self.usedIntervals.longest)
            usedInterval = foundNothing ? longer : Self.usedIntervals.shortest
            probe(
                Self.usedFactor * estimate, estimate: estimate, ceiling: 1.25 * wanted,
                threshold: Self.usedThreshold, at: now)
        }
    }

    /// Returns the time at which ``update(estimate:wanted:ceiling:isLimited:mayRise:at:)`` must be called without
    /// feedback; nil if no probe is needed.
    func deadline(isLimited: Bool) -> Instant? {
        guard hasBegun, pending == nil, !isSatisfied, let probedAt else { return nil }
        let due = probedAt + (isLimited ? Self.limitedInterval : usedInterval)
        return max(due, (updatedAt ?? due) + Self.timeout)
    }
}
