/// When a camera's light is on (Phenix: `PhenixFlashMode`).
public enum FlashMode: String, Hashable, Sendable, CaseIterable {
    /// On while the picture is dark (the default).
    case automatic
    /// On, if there is one.
    case alwaysOn = "always-on"
    /// Off.
    case alwaysOff = "always-off"
}
