/// A device that was connected or disconnected.
public enum SourceDeviceChange: Hashable, Sendable {
    case arrived(SourceDeviceInfo)
    case departed(SourceDeviceInfo)

    /// The device.
    public var device: SourceDeviceInfo {
        switch self {
        case .arrived(let device), .departed(let device): device
        }
    }
}
