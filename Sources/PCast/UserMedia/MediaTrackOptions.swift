public import PCastDevices

/// Where one track comes from, and what is asked of it (Phenix: `PhenixMediaTrackOptions`).
public struct MediaTrackOptions: Hashable, Sendable {
    /// Whether the stream has such a track.
    public var isEnabled: Bool

    /// The source; nil for the one that suits the constraints best: the source that a `deviceID` names, else a camera or a
    /// microphone.
    ///
    /// A `deviceID` is an identifier of ``PCast/enumerateSourceDevices(_:)``, or a URI (`rtsp://…`, `file:…`), an absolute path,
    /// `synthetic`, `null` or `screen`. A URI that cannot be opened fails, whatever the kind of the constraint. An `ideal`
    /// identifier that matches nothing is reported by ``UserMediaStream/unmet``, with the source that is used instead, and
    /// logged as a warning; an `exact` one fails.
    public var source: SourceSpecification?

    /// What is asked of it (seed 004, "Device Capability"):
    ///
    ///     options.video.capabilityConstraints[.facingMode] = [DeviceConstraint(.facingMode(.environment))]
    ///     options.video.capabilityConstraints[.facingMode]?[0].updateFacingMode(.user)
    public var capabilityConstraints: DeviceConstraints

    public init(
        isEnabled: Bool = true, source: SourceSpecification? = nil, capabilityConstraints: DeviceConstraints = [:]
    ) {
        self.isEnabled = isEnabled
        self.source = source
        self.capabilityConstraints = capabilityConstraints
    }
}
