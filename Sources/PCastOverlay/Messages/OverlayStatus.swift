/// Whether a programme has an overlay, as its producer says; the raw values stand on the wire (seed 000).
public enum OverlayStatus: String, Hashable, Sendable, CaseIterable {
    case enabled
    /// It stays loaded and is not seen, until it is enabled again.
    case hidden
    /// It is unloaded, and does not come back by itself.
    case disabled
}

/// Whether the player's controls are seen (seed 000).
public enum OverlayControls: String, Hashable, Sendable, CaseIterable {
    case visible
    case hidden
}

/// Whither the stage was swiped (seed 000).
public enum OverlaySwipe: String, Hashable, Sendable, CaseIterable {
    case left
    case right
    case up
    case down
}
