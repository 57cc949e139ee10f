package import PCastCore

/// The bounds of the playout delay, beyond the minimum of path and decoder.
package struct PlayoutBounds: Hashable, Sendable {
    /// The smallest playout delay.
    package var minimum: TimeSpan
    /// The largest playout delay. Frames that arrive later are late.
    package var maximum: TimeSpan

    /// Creates bounds. A maximum below the minimum is raised to it.
    package init(minimum: TimeSpan = .zero, maximum: TimeSpan = .seconds(10)) {
        self.minimum = max(.zero, minimum)
        self.maximum = max(self.minimum, maximum)
    }

    /// Returns bounds that allow exactly one playout delay.
    package static func exactly(_ delay: TimeSpan) -> PlayoutBounds { PlayoutBounds(minimum: delay, maximum: delay) }

    /// Bounds that allow every delay up to ten seconds.
    package static let unbounded = PlayoutBounds()

    /// Returns the nearest delay within the bounds, where `least` is the minimum of path and decoder.
    func bound(_ delay: TimeSpan, above least: TimeSpan) -> TimeSpan {
        min(max(delay, least + minimum), least + maximum)
    }
}
