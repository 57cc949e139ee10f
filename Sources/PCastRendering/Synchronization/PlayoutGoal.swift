import PCastMedia

/// The delay from capture to presentation that a track is to come to, and how fast.
struct PlayoutGoal {
    var delay: TimeSpan

    /// In this many parts of the time that passes, one is added; and taken away.
    var growth: Int64
    var shrinkage: Int64

    /// It is held whatever comes late.
    var isFixed = false

    /// What the path needs: a twentieth faster, a fiftieth slower.
    static func needed(_ delay: TimeSpan) -> PlayoutGoal { PlayoutGoal(delay: delay, growth: 20, shrinkage: 50) }

    /// What was asked for: a seventh either way.
    static func asked(_ delay: TimeSpan) -> PlayoutGoal { PlayoutGoal(delay: delay, growth: 7, shrinkage: 7) }

    /// What others show at the same time.
    static func shared(_ delay: TimeSpan) -> PlayoutGoal {
        PlayoutGoal(delay: delay, growth: 7, shrinkage: 7, isFixed: true)
    }
}
