public import PCastMedia

/// How long frames may wait beyond what path and decoder take at least.
public struct PlayoutBounds: Hashable, Sendable {
    /// At least this long.
    public var minimum: TimeSpan
    /// No longer than this; what comes later is late.
    public var maximum: TimeSpan

    /// - Parameter maximum: not below the minimum, which it is raised to.
    public init(minimum: TimeSpan = .zero, maximum: TimeSpan = .seconds(10)) {
        self.minimum = max(.zero, minimum)
        self.maximum = max(self.minimum, maximum)
    }

    /// Exactly so long.
    public static func exactly(_ delay: TimeSpan) -> PlayoutBounds { PlayoutBounds(minimum: delay, maximum: delay) }

    /// Whatever the path needs.
    public static let unbounded = PlayoutBounds()

    /// The nearest delay within the bounds, above what frames take at least.
    func bound(_ delay: TimeSpan, above least: TimeSpan) -> TimeSpan {
        min(max(delay, least + minimum), least + maximum)
    }
}
