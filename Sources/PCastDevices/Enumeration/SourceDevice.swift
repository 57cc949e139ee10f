/// A source with all that is known of it.
public struct SourceDevice: Hashable, Sendable {
    public enum Capabilities: Hashable, Sendable {
        case video(VideoCapabilities)
        case audio(AudioCapabilities)
    }

    public var info: SourceDeviceInfo
    public var identity: DeviceIdentity
    public var capabilities: Capabilities

    public init(info: SourceDeviceInfo, identity: DeviceIdentity, capabilities: Capabilities) {
        self.info = info
        self.identity = identity
        self.capabilities = capabilities
    }
}
