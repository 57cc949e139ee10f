import PCastMedia

/// When to probe, and how high.
///
/// After libwebrtc's `ProbeController`: at the beginning with 3 and 6 times the estimate, then with twice as much as
/// long as 70 % of the last probe were found; each 5 s with twice as much while the application is limited; and after a
/// fall. Beyond that, a path that is used in full but gives less than is wanted is tried each few seconds as well:
/// growth of 8 % a second would take half a minute from 0.8 back to 4 Mbit/s.
struct ProbeController: Sendable {
    static let initialFactors = (3.0, 6.0)
    static let furtherFactor = 2.0
    /// Of a path in full use, for what is more than it carries waits on it.
    static let usedFactor = 1.5
    static let furtherThreshold = 0.7
    static let usedThreshold = 0.9
    static let limitedInterval = TimeSpan.seconds(Int64(5))
    /// The same where there is room for next to nothing of what is wanted: sound alone goes on, and pictures shall be back
    /// soon after the path is (CC9).
    static let starvedInterval = TimeSpan.milliseconds(1_500)
    private static let starvation = (share: 0.2, kilobits: 250.0)
    /// Between probes of a path in full use, longer after each that found nothing.
    static let usedIntervals = (shortest: TimeSpan.seconds(Int64(4)), longest: TimeSpan.seconds(Int64(8)))
    private static let patience = TimeSpan.seconds(Int64(1))

    /// Beyond what is wanted there is no need to know.
    static let headroom = 2.0

    private enum State {
        case waiting
        /// A probe is out; more follow when the estimate comes to `threshold`.
        case measuring(threshold: Double, until: Instant)
        case idle
    }

    private var state = State.waiting
    private var pending: (first: Double, second: Double)?
    private var lastID: UInt16 = 0
    private var probedAt: Instant?
    private var before = 0.0
    /// When `update` was last called, and whether there was more to know.
    private var updatedAt: Instant?
    private var isSatisfied = false
    private var usedInterval = Self.usedIntervals.shortest

    private(set) var hasBegun = false

    /// The next probe to be sent; nil when none is due.
    mutating func poll() -> ProbeCluster? {
        guard let next = pending else { return nil }
        pending = next.second > 0 ? (next.second, 0) : nil
        lastID = lastID == .max ? 1 : lastID + 1
        return ProbeCluster(id: lastID, rate: Bitrate(kilobits: next.first))
    }

    /// Media begins to flow.
    mutating func begin(estimate: Double, ceiling: Double, at now: Instant) {
        hasBegun = true
        probe(
            Self.initialFactors.0 * estimate, Self.initialFactors.1 * estimate, estimate: estimate,
            ceiling: ceiling, at: now)
    }

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
            ? .idle : .measuring(threshold: threshold * highest, until: now + Self.patience)
    }

    /// The estimate after a report.
    ///
    /// - Parameters:
    ///   - ceiling: what it is worth to know, at most.
    ///   - mayRise: nothing speaks against more at the moment.
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

    /// When `update` wants to be called, if no report comes before.
    func deadline(isLimited: Bool) -> Instant? {
        guard hasBegun, pending == nil, !isSatisfied, let probedAt else { return nil }
        let due = probedAt + (isLimited ? Self.limitedInterval : usedInterval)
        return max(due, (updatedAt ?? due) + Self.patience)
    }
}
