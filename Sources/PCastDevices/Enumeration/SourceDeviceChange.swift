/// Something that was plugged in or out.
public enum SourceDeviceChange: Hashable, Sendable {
    case arrived(SourceDeviceInfo)
    case departed(SourceDeviceInfo)

    public var device: SourceDeviceInfo {
        switch self {
        case .arrived(let device), .departed(let device): device
        }
    }
}
