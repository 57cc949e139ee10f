package import PCastCore

/// A viewer's membership in a group that presents the same frame at the same time: at a fixed delay after capture, by
/// the clock of the SFU. Every RTCP sender report carries that clock.
///
/// A viewer whose frames are ready too late leaves the group and uses its own delay. It rejoins after it could have
/// kept the delay for a while.
package struct SharedPlayout: Hashable, Sendable {
    /// The state of the viewer in the group.
    package enum Membership: String, Hashable, Sendable {
        /// the SFU's clock is not known yet.
        case joining
        case member
        /// The viewer cannot keep the delay.
        case left
    }

    /// The time of being late after which the viewer leaves.
    static let timeout = TimeSpan.seconds(2)

    /// The time of being able to keep the delay after which the viewer rejoins.
    static let probation = TimeSpan.seconds(10)

    /// The margin by which frames must be earlier to rejoin.
    static let margin = TimeSpan.milliseconds(20)

    /// The time from capture to presentation.
    package let target: TimeSpan

    /// The local monotonic clock minus the SFU's wall clock, each counted from its origin; nil while unknown.
    package var clockOffset: TimeSpan?

    /// The state of the viewer in the group.
    package private(set) var membership = Membership.joining

    /// The time since which the required delay contradicts the state.
    private var contradictedSince: Instant?

    /// Creates a membership that is joining.
    package init(target: TimeSpan, clockOffset: TimeSpan? = nil) {
        self.target = target
        self.clockOffset = clockOffset
    }

    /// Returns the delay from the SFU's capture time to the local time; nil while the viewer is not a member.
    /// `needed` is the larger delay of both tracks.
    mutating func hold(needed: TimeSpan, at now: Instant) -> TimeSpan? {
        guard let clockOffset else { return nil }
        let held = target + clockOffset
        switch membership {
        case .joining: membership = needed <= held ? .member : .left
        case .member: if isContradicted(needed > held, for: Self.timeout, at: now) { membership = .left }
        case .left:
            if isContradicted(needed <= held - Self.margin, for: Self.probation, at: now) { membership = .member }
        }
        return membership == .member ? held : nil
    }

    /// Returns whether a condition has lasted for the given time.
    private mutating func isContradicted(_ isContradicted: Bool, for span: TimeSpan, at now: Instant) -> Bool {
        guard isContradicted else {
            contradictedSince = nil
            return false
        }
        let since = contradictedSince ?? now
        contradictedSince = since
        guard now - since >= span else { return false }
        contradictedSince = nil
        return true
    }
}
