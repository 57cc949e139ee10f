/// What hardware says of itself, by which rules of `configs/devices.json5` find it.
public struct DeviceIdentity: Hashable, Sendable {
    /// The USB vendor and product, four hexadecimal digits; nil for what is not on USB.
    public var vendor: String?
    public var product: String?
    public var serial: String?
    /// The name of the camera or of the sound card.
    public var name: String

    public init(name: String, vendor: String? = nil, product: String? = nil, serial: String? = nil) {
        self.name = name
        self.vendor = vendor
        self.product = product
        self.serial = serial
    }
}
