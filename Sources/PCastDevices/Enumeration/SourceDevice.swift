/// A source device with its capabilities.
public struct SourceDevice: Hashable, Sendable {
    /// The capabilities by media type.
    public enum Capabilities: Hashable, Sendable {
        case video(VideoCapabilities)
        case audio(AudioCapabilities)
    }

    /// The description of the device.
    public var info: SourceDeviceInfo
    /// The identity of the hardware.
    public var identity: DeviceIdentity
    /// The capabilities.
    public var capabilities: Capabilities

    /// Creates a device.
    public init(info: SourceDeviceInfo, identity: DeviceIdentity, capabilities: Capabilities) {
        self.info = info
        self.identity = identity
        self.capabilities = capabilities
    }
}
