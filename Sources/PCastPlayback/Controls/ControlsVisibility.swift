import PCastCore

/// The visibility of the built-in controls of a player. Inputs are clicks, keys, the player's state and the time.
///
/// A click toggles the visibility, and a key shows the controls. They hide after a timeout while the player plays.
struct ControlsVisibility: Equatable {
    /// The time from the last click or key until the controls hide.
    static let timeout = TimeSpan.seconds(3)

    private(set) var isVisible = false

    /// The time at which the controls hide; nil while they are hidden or the player does not play.
    private(set) var deadline: Instant?

    private var isPlaying = false

    /// Toggles the visibility after a click.
    mutating func click(at now: Instant) { setVisible(!isVisible, at: now) }

    /// Shows the controls after a key press.
    mutating func press(at now: Instant) { setVisible(true, at: now) }

    /// Shows or hides the controls, and restarts the timeout.
    mutating func setVisible(_ isVisible: Bool, at now: Instant) {
        self.isVisible = isVisible
        deadline = isVisible && isPlaying ? now + Self.timeout : nil
    }

    /// Records whether the player plays, and restarts the timeout after a change.
    mutating func setPlaying(_ isPlaying: Bool, at now: Instant) {
        guard isPlaying != self.isPlaying else { return }
        self.isPlaying = isPlaying
        setVisible(isVisible, at: now)
    }

    /// Hides the controls if their timeout has passed.
    mutating func advance(to now: Instant) {
        if let deadline, now >= deadline { setVisible(false, at: now) }
    }
}
