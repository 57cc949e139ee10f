/// How a camera focuses (Phenix: `PhenixAutoFocusMode`).
public enum AutoFocusMode: String, Hashable, Sendable, CaseIterable {
    /// As the camera sees fit (the default).
    case automatic
    /// Stays where it is.
    case locked
    /// Focuses once, and stays there until it is told otherwise.
    case autoThenLocked = "auto-then-locked"
    /// Follows the picture all the time.
    case continuous
}
