/// A constraint of a capability (Phenix: `PhenixDeviceConstraint`).
public struct DeviceConstraint: Hashable, Sendable {
    /// The kind of a constraint (Phenix: `PhenixConstraintType`). `min`, `max` and `exact` are required: a device that
    /// does not satisfy them is not used. For `ideal`, the nearest value is used.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case min
        case max
        case exact
        case ideal
    }

    /// The value of a constraint.
    public enum Value: Hashable, Sendable {
        /// A number, for `width`, `height` and `frameRate`.
        case number(Double)
        /// An identifier, for `deviceID`.
        case text(String)
        case facingMode(FacingMode)
        case flashMode(FlashMode)
        case location(DeviceLocation)
        case polarPattern(PolarPattern)
        case echoCancellation(AudioEchoCancellationMode)
        case rotationMode(VideoSourceRotationMode)
        case autoFocusMode(AutoFocusMode)
        case focusTarget(FocusTarget)
        case channelLayout(AudioChannelLayout)
    }

    /// The kind of the constraint.
    public var kind: Kind
    /// The value.
    public var value: Value

    /// Creates a constraint.
    public init(_ value: Value, kind: Kind = .ideal) {
        self.kind = kind
        self.value = value
    }

    /// Replaces the value with a number, for `width`, `height` and `frameRate`.
    public mutating func updateNumber(_ number: Double) { value = .number(number) }
    /// Replaces the value with an identifier, for `deviceID`.
    public mutating func updateDeviceID(_ id: String) { value = .text(id) }
    /// Replaces the value with a facing mode.
    public mutating func updateFacingMode(_ mode: FacingMode) { value = .facingMode(mode) }
    /// Replaces the value with a flash mode.
    public mutating func updateFlashMode(_ mode: FlashMode) { value = .flashMode(mode) }
    /// Replaces the value with a location.
    public mutating func updateLocation(_ location: DeviceLocation) { value = .location(location) }
    /// Replaces the value with a polar pattern.
    public mutating func updatePolarPattern(_ pattern: PolarPattern) { value = .polarPattern(pattern) }
    /// Replaces the value with an echo cancellation mode.
    public mutating func updateEchoCancellationMode(_ mode: AudioEchoCancellationMode) {
        value = .echoCancellation(mode)
    }
    /// Replaces the value with a rotation mode.
    public mutating func updateRotationMode(_ mode: VideoSourceRotationMode) { value = .rotationMode(mode) }
    /// Replaces the value with a focus mode.
    public mutating func updateAutoFocusMode(_ mode: AutoFocusMode) { value = .autoFocusMode(mode) }
    /// Replaces the value with a focus target.
    public mutating func updateAutoFocusTarget(_ target: FocusTarget) { value = .focusTarget(target) }
    /// Replaces the value with a channel layout.
    public mutating func updateChannelLayout(_ layout: AudioChannelLayout) { value = .channelLayout(layout) }
}

/// The constraints of one track's source. All constraints of a capability apply.
public typealias DeviceConstraints = [DeviceCapability: [DeviceConstraint]]
