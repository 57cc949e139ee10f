import PCastCore

/// Properties of the devices that match a pattern.
struct DeviceRule: Hashable, Sendable {
    var pattern: DevicePattern
    var facingMode: FacingMode?
    var location: DeviceLocation?
    var polarPattern: PolarPattern?
    var name: String?

    /// The clockwise quarter turns, 0 to 3.
    var mountRotation: Int?
    var isHidden: Bool?

    init(pattern: DevicePattern) { self.pattern = pattern }

    func apply(to device: inout SourceDevice) {
        if let facingMode { device.info.facingMode = facingMode }
        if let location { device.info.location = location }
        if let name { device.info.name = name }
        switch device.capabilities {
        case .video(var capabilities):
            guard let mountRotation else { return }
            capabilities.mountRotation = mountRotation
            device.capabilities = .video(capabilities)
        case .audio(var capabilities):
            guard let polarPattern else { return }
            capabilities.polarPatterns = [polarPattern]
            device.capabilities = .audio(capabilities)
        }
    }
}

/// A pattern of devices. All of its fields must match.
struct DevicePattern: Hashable, Sendable {
    var mediaType: MediaType?

    /// The vendor ID, four hexadecimal digits in lower case.
    var vendor: String?
    var product: String?
    var serial: NamePattern?
    var name: NamePattern?
    var id: NamePattern?

    var isEmpty: Bool { self == DevicePattern() }

    /// Returns whether a device matches. The hardware's own identity counts, and not a name from another rule.
    func matches(_ device: SourceDevice) -> Bool {
        let identity = device.identity
        if let mediaType, device.info.mediaType != mediaType { return false }
        if let vendor, identity.vendor?.lowercased() != vendor { return false }
        if let product, identity.product?.lowercased() != product { return false }
        if let serial, identity.serial.map(serial.matches) != true { return false }
        if let name, !name.matches(identity.name) { return false }
        if let id, !id.matches(device.info.id) { return false }
        return true
    }
}
