import PCastCore

/// Whether the built-in controls of a player are visible, and for how long. It receives the time.
///
/// A click shows or hides them, a key shows them. They hide by themselves after a timeout, unless the player is paused.
struct ControlsVisibility: Equatable {
    /// The time from the last click or key to hiding.
    static let timeout = TimeSpan.seconds(3)

    private(set) var isVisible = false

    /// When they hide by themselves; nil while they are hidden or the player does not play.
    private(set) var deadline: Instant?

    private var isPlaying = false

    mutating func click(at now: Instant) { setVisible(!isVisible, at: now) }

    mutating func press(at now: Instant) { setVisible(true, at: now) }

    /// Shows or hides them; shown again, they are visible for another timeout.
    mutating func setVisible(_ isVisible: Bool, at now: Instant) {
        self.isVisible = isVisible
        deadline = isVisible && isPlaying ? now + Self.timeout : nil
    }

    mutating func setPlaying(_ isPlaying: Bool, at now: Instant) {
        guard isPlaying != self.isPlaying else { return }
        self.isPlaying = isPlaying
        setVisible(isVisible, at: now)
    }

    /// Hides them when their time is over.
    mutating func advance(to now: Instant) {
        if let deadline, now >= deadline { setVisible(false, at: now) }
    }
}
