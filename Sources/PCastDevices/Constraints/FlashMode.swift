/// The mode of a camera's light (Phenix: `PhenixFlashMode`).
public enum FlashMode: String, Hashable, Sendable, CaseIterable {
    /// On while frames are dark (default).
    case automatic
    /// On, if the camera has a light.
    case alwaysOn = "always-on"
    /// Off.
    case alwaysOff = "always-off"
}
