/// The rotation of captured frames (Phenix: `PhenixVideoSourceRotationMode`).
public enum VideoSourceRotationMode: String, Hashable, Sendable, CaseIterable {
    /// By the device's orientation if it is known, otherwise by the user interface (default).
    case automatic
    /// By the orientation of the device.
    case followDeviceRotation = "follow-device-rotation"
    /// By the orientation of the user interface.
    case followUIRotation = "follow-ui-rotation"
}
