public import PCastMedia

/// What happens to a surface.
public enum SurfaceEvent: Sendable, Equatable {
    /// It can be shown to: for the first time, or again after it was lost.
    case ready(Dimensions)

    /// It has another size, in pixels.
    case resized(Dimensions)

    /// Somebody pressed a key on it.
    case key(SurfaceKey)

    /// Somebody clicked on it, with the left button of the mouse.
    case clicked

    /// Somebody closed it. It is lost.
    case closed

    /// It is gone, for a reason in words for people; what is shown to it is not seen until it is ready again.
    case lost(reason: String)
}

/// A key that was pressed.
public enum SurfaceKey: Hashable, Sendable {
    /// What the key writes, in lower case: `"q"`, `" "`.
    case character(Character)
    case escape
    case enter
    case left
    case right
    case up
    case down
}
