/// A capability that constraints can request (Phenix: `PhenixDeviceCapability`), including the auto-focus target.
public enum DeviceCapability: String, Hashable, Sendable, CaseIterable {
    /// The width in pixels of the delivered frames.
    case width
    /// The height in pixels of the delivered frames.
    case height
    /// The frame rate in frames per second.
    case frameRate = "frame-rate"
    /// The direction that a camera faces.
    case facingMode = "facing-mode"
    /// The flash mode of a camera.
    case flashMode = "flash-mode"
    /// The identifier of the device, `SourceDeviceInfo.id`.
    case deviceID = "device-id"
    /// The location of the device on a phone or tablet.
    case location
    /// The polar pattern of a microphone.
    case polarPattern = "polar-pattern"
    /// The echo cancellation mode of a microphone.
    case audioEchoCancellationMode = "audio-echo-cancellation-mode"
    /// The rotation mode of a camera.
    case videoSourceRotationMode = "video-source-rotation-mode"
    /// The focus mode of a camera.
    case autoFocusMode = "auto-focus-mode"
    /// The position to focus on.
    case autoFocusTarget = "auto-focus-target"
    /// Mono or stereo.
    case audioChannelLayout = "audio-channel-layout"
}
