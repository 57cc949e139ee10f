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

    /// Where a camera looks (Phenix: `PhenixFacingMode`).
    public enum FacingMode: String, Hashable, Sendable, CaseIterable {
        case undefined
        case user
        case environment
    }

    /// What `SourceSpecification` and `SourceDevices` know it by.
    public var id: String

    /// For people.
    public var name: String
    public var mediaType: MediaType
    public var deviceType: DeviceType
    public var facingMode: FacingMode

    public init(
        id: String, name: String, mediaType: MediaType, deviceType: DeviceType, facingMode: FacingMode = .undefined
    ) {
        self.id = id
        self.name = name
        self.mediaType = mediaType
        self.deviceType = deviceType
        self.facingMode = facingMode
    }
}
