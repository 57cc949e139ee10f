/// One wish, or one demand, about a capability (Phenix: `PhenixDeviceConstraint`).
public struct DeviceConstraint: Hashable, Sendable {
    /// How it is meant (Phenix: `PhenixConstraintType`). `min`, `max` and `exact` are demands: what does not meet them is
    /// not used. An `ideal` is a wish: what comes nearest is used.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case min
        case max
        case exact
        case ideal
    }

    public enum Value: Hashable, Sendable {
        /// Of `width`, `height` and `frameRate`.
        case number(Double)
        /// Of `deviceID`.
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

    public var kind: Kind
    public var value: Value

    public init(_ value: Value, kind: Kind = .ideal) {
        self.kind = kind
        self.value = value
    }

    public mutating func updateNumber(_ number: Double) { value = .number(number) }
    public mutating func updateDeviceID(_ id: String) { value = .text(id) }
    public mutating func updateFacingMode(_ mode: FacingMode) { value = .facingMode(mode) }
    public mutating func updateFlashMode(_ mode: FlashMode) { value = .flashMode(mode) }
    public mutating func updateLocation(_ location: DeviceLocation) { value = .location(location) }
    public mutating func updatePolarPattern(_ pattern: PolarPattern) { value = .polarPattern(pattern) }
    public mutating func updateEchoCancellationMode(_ mode: AudioEchoCancellationMode) {
        value = .echoCancellation(mode)
    }
    public mutating func updateRotationMode(_ mode: VideoSourceRotationMode) { value = .rotationMode(mode) }
    public mutating func updateAutoFocusMode(_ mode: AutoFocusMode) { value = .autoFocusMode(mode) }
    public mutating func updateAutoFocusTarget(_ target: FocusTarget) { value = .focusTarget(target) }
    public mutating func updateChannelLayout(_ layout: AudioChannelLayout) { value = .channelLayout(layout) }
}

/// What is asked of one track's source. Several constraints of one capability all count.
public typealias DeviceConstraints = [DeviceCapability: [DeviceConstraint]]
