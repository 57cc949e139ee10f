public import PCastDevices

/// The source of one track and its constraints (Phenix: `PhenixMediaTrackOptions`).
public struct MediaTrackOptions: Hashable, Sendable {
    /// Whether the stream has the track.
    public var isEnabled: Bool

    /// The source; nil for the best one by the constraints: the source that a `deviceID` names, else a camera or a
    /// microphone.
    ///
    /// A `deviceID` is an identifier of ``PCast/enumerateSourceDevices(_:)``, a URI (`rtsp://…`, `file:…`), an absolute
    /// path, `synthetic`, `null` or `screen`. A URI that cannot be opened is an error for every kind of constraint. An
    /// `ideal` identifier without a match is reported by ``UserMediaStream/unmet`` and logged as a warning, and another
    /// source is used. An `exact` one without a match is an error.
    public var source: SourceSpecification?

    /// The constraints on the source by capability (Phenix: `PhenixDeviceCapability`):
    ///
    ///     options.video.capabilityConstraints[.facingMode] = [DeviceConstraint(.facingMode(.environment))]
    ///     options.video.capabilityConstraints[.facingMode]?[0].updateFacingMode(.user)
    public var capabilityConstraints: DeviceConstraints

    /// Creates options.
    ///
    /// - Parameters:
    ///   - isEnabled: Whether the stream has the track.
    ///   - source: The source; nil for the best one by the constraints.
    ///   - capabilityConstraints: The constraints on the source by capability.
    public init(
        isEnabled: Bool = true, source: SourceSpecification? = nil, capabilityConstraints: DeviceConstraints = [:]
    ) {
        self.isEnabled = isEnabled
        self.source = source
        self.capabilityConstraints = capabilityConstraints
    }
}
