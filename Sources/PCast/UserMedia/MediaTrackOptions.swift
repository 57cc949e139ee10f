public import PCastDevices

/// Where one track comes from, and what is asked of it (Phenix: `PhenixMediaTrackOptions`).
public struct MediaTrackOptions: Hashable, Sendable {
    /// Whether the stream has such a track.
    public var isEnabled: Bool

    /// The source; nil for the camera or the microphone that suits the constraints best.
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
