/// How captured pictures are turned upright (Phenix: `PhenixVideoSourceRotationMode`).
public enum VideoSourceRotationMode: String, Hashable, Sendable, CaseIterable {
    /// By the device where it can tell how it is held, else by the user interface (the default).
    case automatic
    /// As the device is held, however the user interface is turned.
    case followDeviceRotation = "follow-device-rotation"
    /// As the user interface is turned, however the device is held.
    case followUIRotation = "follow-ui-rotation"
}
