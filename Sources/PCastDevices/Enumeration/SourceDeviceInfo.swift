public import PCastMedia

/// A source that this machine offers (Phenix: `PhenixSourceDeviceInfo`).
public struct SourceDeviceInfo: Hashable, Sendable {
    /// What kind of source it is (Phenix: `PhenixSourceDeviceType`).
    public enum DeviceType: String, Hashable, Sendable, CaseIterable {
        /// Black pictures or silence.
        case null
        /// Hardware: a camera, a microphone.
        case physical
        /// What the system itself shows or plays: a screen.
        case systemOutput = "system-output"
        /// Made by computation: the test picture and the clapper.
        case synthetic
        /// A file or an address.
        case uri
    }

    /// What `SourceSpecification` and `SourceDevices` know it by; hardware keeps its own across restarts and ports of
    /// the kernel's numbering.
    public var id: String

    /// For people.
    public var name: String
    public var mediaType: MediaType
    public var deviceType: DeviceType
    public var facingMode: FacingMode
    public var location: DeviceLocation

    public init(
        id: String, name: String, mediaType: MediaType, deviceType: DeviceType, facingMode: FacingMode = .undefined,
        location: DeviceLocation = .automatic
    ) {
        self.id = id
        self.name = name
        self.mediaType = mediaType
        self.deviceType = deviceType
        self.facingMode = facingMode
        self.location = location
    }
}
