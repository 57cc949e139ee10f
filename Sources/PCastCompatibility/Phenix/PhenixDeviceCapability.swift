import PCast

/// A capability of a device, with Phenix's numbers, which are the keys of constraints (Phenix:
/// `PhenixDeviceCapability`).
public enum PhenixDeviceCapability: Int, Hashable, Sendable, CaseIterable {
    /// The width of frames in pixels.
    case width = 0
    /// The height of frames in pixels.
    case height
    /// The frame rate in frames per second.
    case frameRate
    /// The direction in which a camera faces.
    case facingMode
    /// The mode of the flash.
    case flashMode
    /// The identifier of the device.
    case deviceId
    /// The location of the device on a phone or tablet.
    case location
    /// The polar pattern of a microphone.
    case polarPattern
    /// The mode of echo cancellation. The spelling is Phenix's.
    case audioEchoCancelationMode
    /// The rotation of the video source.
    case videoSourceRotationMode
    /// The mode of the auto-focus.
    case autoFocusMode
    /// The layout of audio channels.
    case audioChannelLayout
    /// The target of the auto-focus. Phenix's public headers do not have it; the number is this library's.
    case autoFocusTarget

    /// The capability of `PCastDevices`.
    var capability: DeviceCapability {
        switch self {
        case .width: .width
        case .height: .height
        case .frameRate: .frameRate
        case .facingMode: .facingMode
        case .flashMode: .flashMode
        case .deviceId: .deviceID
        case .location: .location
        case .polarPattern: .polarPattern
        case .audioEchoCancelationMode: .audioEchoCancellationMode
        case .videoSourceRotationMode: .videoSourceRotationMode
        case .autoFocusMode: .autoFocusMode
        case .audioChannelLayout: .audioChannelLayout
        case .autoFocusTarget: .autoFocusTarget
        }
    }
}
