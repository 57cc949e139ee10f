/// What of a device can be asked for (Phenix: `PhenixDeviceCapability`, and seed 004's auto-focus target).
public enum DeviceCapability: String, Hashable, Sendable, CaseIterable {
    /// Pixels, of the picture as it is delivered.
    case width
    case height
    /// Pictures a second.
    case frameRate = "frame-rate"
    case facingMode = "facing-mode"
    case flashMode = "flash-mode"
    /// `SourceDeviceInfo.id`.
    case deviceID = "device-id"
    case location
    case polarPattern = "polar-pattern"
    case audioEchoCancellationMode = "audio-echo-cancellation-mode"
    case videoSourceRotationMode = "video-source-rotation-mode"
    case autoFocusMode = "auto-focus-mode"
    case autoFocusTarget = "auto-focus-target"
    case audioChannelLayout = "audio-channel-layout"
}
