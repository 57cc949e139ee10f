import PCast

/// What of a device can be asked for, with Phenix's numbers, which are the keys of constraints there.
public enum PhenixDeviceCapability: Int, Hashable, Sendable, CaseIterable {
    case width = 0
    case height
    case frameRate
    case facingMode
    case flashMode
    case deviceId
    case location
    case polarPattern
    case audioEchoCancelationMode
    case videoSourceRotationMode
    case autoFocusMode
    case audioChannelLayout
    /// Seed 004 alone has it; the number is ours.
    case autoFocusTarget

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
