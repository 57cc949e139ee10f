/// The identity of hardware, which rules in `configs/devices.yaml` match.
public struct DeviceIdentity: Hashable, Sendable {
    /// The USB vendor ID, four hexadecimal digits; nil for hardware that is not on USB.
    public var vendor: String?
    /// The USB product ID, four hexadecimal digits; nil for hardware that is not on USB.
    public var product: String?
    /// The serial number; nil if there is none.
    public var serial: String?
    /// The name of the camera or the sound card.
    public var name: String

    /// Creates an identity.
    public init(name: String, vendor: String? = nil, product: String? = nil, serial: String? = nil) {
        self.name = name
        self.vendor = vendor
        self.product = product
        self.serial = serial
    }
}
