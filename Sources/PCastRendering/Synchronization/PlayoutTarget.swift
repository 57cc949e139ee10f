import PCastCore

/// The delay from capture to presentation that a track approaches, and the rate of the change.
struct PlayoutTarget {
    var delay: TimeSpan

    /// The elapsed time divided by this is the increase of the delay.
    var growth: Int64
    /// The elapsed time divided by this is the decrease of the delay.
    var shrinkage: Int64

    /// Whether the delay stays fixed even if frames are late.
    var isFixed = false

    /// Returns the goal for the delay that the path requires. It grows at a twentieth of the elapsed time and shrinks
    /// at a fiftieth.
    static func needed(_ delay: TimeSpan) -> PlayoutTarget { PlayoutTarget(delay: delay, growth: 20, shrinkage: 50) }

    /// Returns the goal for a requested delay. It changes at a seventh of the elapsed time.
    static func asked(_ delay: TimeSpan) -> PlayoutTarget { PlayoutTarget(delay: delay, growth: 7, shrinkage: 7) }

    /// Returns the goal for a delay that a group of viewers shares.
    static func shared(_ delay: TimeSpan) -> PlayoutTarget {
        PlayoutTarget(delay: delay, growth: 7, shrinkage: 7, isFixed: true)
    }
}
