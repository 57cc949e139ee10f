public import PCastCore

/// An event of a surface.
public enum SurfaceEvent: Sendable, Equatable {
    /// It is ready for frames, for the first time or after it was lost.
    case ready(Dimensions)

    /// Its size in pixels changed.
    case resized(Dimensions)

    /// A key was pressed.
    case key(SurfaceKey)

    /// Somebody clicked on it, with the left button of the mouse.
    case clicked

    /// The user closed it. It is lost.
    case closed

    /// It was lost for this reason. Frames are dropped until it is ready again.
    case lost(reason: String)
}

/// A key.
public enum SurfaceKey: Hashable, Sendable {
    /// The lower-case character that the key produces: `"q"`, `" "`.
    case character(Character)
    case escape
    case enter
    case left
    case right
    case up
    case down
}
