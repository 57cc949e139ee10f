/// The status of a programme's overlay, which its producer sets. The raw values are the strings in messages (Ease Live
/// SDK).
public enum OverlayStatus: String, Hashable, Sendable, CaseIterable {
    /// The overlay is loaded and visible.
    case enabled
    /// The overlay stays loaded but is invisible until it is enabled.
    case hidden
    /// The overlay is destroyed and is not loaded again by itself.
    case disabled
}

/// The visibility of the player's controls (Ease Live SDK).
public enum OverlayControls: String, Hashable, Sendable, CaseIterable {
    case visible
    case hidden
}

/// The direction of a swipe on the stage (Ease Live SDK).
public enum OverlaySwipe: String, Hashable, Sendable, CaseIterable {
    case left
    case right
    case up
    case down
}
