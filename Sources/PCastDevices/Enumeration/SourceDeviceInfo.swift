public import PCastCore

/// The description of a source device (Phenix: `PhenixSourceDeviceInfo`).
public struct SourceDeviceInfo: Hashable, Sendable {
    /// The type of a source device (Phenix: `PhenixSourceDeviceType`).
    public enum DeviceType: String, Hashable, Sendable, CaseIterable {
        /// Black frames or silence.
        case null
        /// Hardware: a camera or a microphone.
        case physical
        /// The output of the system, such as a screen.
        case systemOutput = "system-output"
        /// Computed: the test pattern and the clapper.
        case synthetic
        /// A file or an address.
        case uri
    }

    /// The identifier for `SourceSpecification` and `SourceDevices`. Hardware keeps it across restarts and kernel
    /// renumbering.
    public var id: String

    /// The name for display.
    public var name: String
    /// The media type.
    public var mediaType: MediaType
    /// The type of the device.
    public var deviceType: DeviceType
    /// The direction that a camera faces.
    public var facingMode: FacingMode
    /// The location on a phone or tablet.
    public var location: DeviceLocation

    /// Creates a description.
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
