public import PCastMedia

/// One viewer's part in a group that shows the same picture at the same time: a fixed delay from capture, by the clock of the
/// relay, which every sender report tells (RTCP3).
///
/// A viewer that cannot hold the delay, because its frames are ready later, leaves the group and shows by its own need. It
/// comes back when it could have held it for a while.
public struct SharedPlayout: Hashable, Sendable {
    /// Where the viewer stands to the group.
    public enum Membership: String, Hashable, Sendable {
        /// The relay's clock is not known yet.
        case joining
        case member
        /// It cannot hold the delay.
        case left
    }

    /// After this long of being late it leaves.
    static let patience = TimeSpan.seconds(2)

    /// After this long of being able to hold the delay it comes back.
    static let probation = TimeSpan.seconds(10)

    /// By so much it has to be earlier than it must, to come back.
    static let margin = TimeSpan.milliseconds(20)

    /// From capture to presentation.
    public let target: TimeSpan

    /// The machine's monotonic clock less the relay's wall clock at one moment, both counted from their origins; nil while
    /// it is not known.
    public var clockOffset: TimeSpan?

    public private(set) var membership = Membership.joining

    /// Since when what is needed says otherwise than the membership.
    private var doubtedSince: Instant?

    public init(target: TimeSpan, clockOffset: TimeSpan? = nil) {
        self.target = target
        self.clockOffset = clockOffset
    }

    /// The delay to hold, from the relay's time of capture to our instant; nil while the viewer is not in the group.
    ///
    /// - Parameter needed: by the track that needs more.
    mutating func hold(needed: TimeSpan, at now: Instant) -> TimeSpan? {
        guard let clockOffset else { return nil }
        let held = target + clockOffset
        switch membership {
        case .joining: membership = needed <= held ? .member : .left
        case .member: if isDoubted(needed > held, for: Self.patience, at: now) { membership = .left }
        case .left:
            if isDoubted(needed <= held - Self.margin, for: Self.probation, at: now) { membership = .member }
        }
        return membership == .member ? held : nil
    }

    /// Whether the doubt has lasted long enough.
    private mutating func isDoubted(_ isDoubted: Bool, for span: TimeSpan, at now: Instant) -> Bool {
        guard isDoubted else {
            doubtedSince = nil
            return false
        }
        let since = doubtedSince ?? now
        doubtedSince = since
        guard now - since >= span else { return false }
        doubtedSince = nil
        return true
    }
}
