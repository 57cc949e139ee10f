/// The focus mode of a camera (Phenix: `PhenixAutoFocusMode`).
public enum AutoFocusMode: String, Hashable, Sendable, CaseIterable {
    /// The camera's choice (default).
    case automatic
    /// The focus stays fixed.
    case locked
    /// The camera focuses once, then the focus stays fixed.
    case autoThenLocked = "auto-then-locked"
    /// The camera focuses continuously.
    case continuous
}
