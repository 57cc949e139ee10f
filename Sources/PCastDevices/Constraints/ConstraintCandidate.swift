/// A device with its best configuration.
struct ConstraintCandidate<Configuration: Hashable & Sendable> {
    let device: SourceDevice
    let rank: FitnessRank
    let configuration: Configuration

    /// The configuration, for display.
    let text: String
    let textReason: String?
    let fits: [CapabilityFit]

    /// Returns the required constraint that is missed by the least; nil if all are satisfied.
    func failure(_ constraintSet: DeviceConstraintSet) -> ConstraintFailure? {
        let unmet = fits.flatMap(\.unmetDemands)
        guard let named = unmet.min(by: { $0.isNamedBefore($1) }) else { return nil }
        return ConstraintFailure(
            capability: named.capability, constraint: named.constraint, nearest: named.nearest,
            contradiction: constraintSet[named.capability].contradiction(of: named.constraint))
    }

    /// The reason for each capability whose ideal value is unsatisfied.
    var unmet: [DeviceCapability: String] {
        var unmet: [DeviceCapability: String] = [:]
        for fit in fits { unmet[fit.capability] = fit.unmet }
        return unmet
    }

    var explanation: ConstraintExplanation.Candidate {
        var distances: [DeviceCapability: Double] = [:]
        for fit in fits { distances[fit.capability] = fit.distance }
        return ConstraintExplanation.Candidate(
            device: device.info, configuration: text, configurationReason: textReason, distances: distances,
            unmetDemands: fits.flatMap(\.unmetDemands).map { "\($0.capability.rawValue) \($0.constraint)" })
    }

    /// Creates a candidate. `rank` covers `others`; the ranks of `settings` are added.
    init(
        device: SourceDevice, order: Int, rank: FitnessRank, settings: [CapabilityFit], others: [CapabilityFit],
        configuration: Configuration, text: String, textReason: String? = nil
    ) {
        self.device = device
        self.configuration = configuration
        self.text = text
        self.textReason = textReason
        fits = (others + settings).sorted { $0.capability.position < $1.capability.position }
        var rank = rank
        for fit in settings {
            rank.unmetDemands += fit.unmetDemands.count
            rank.missed += fit.unmetDemands.reduce(0) { $0 + $1.missed }
            rank.distance += fit.distance ?? 0
            if fit.capability == .deviceID { rank.deviceDistance = fit.distance ?? 0 }
        }
        rank.deviceKind = device.info.deviceType.distance
        rank.order = order
        self.rank = rank
    }
}

extension CapabilityFit.UnsatisfiedConstraint {
    /// Returns whether this constraint is reported before another one.
    fileprivate func isNamedBefore(_ other: Self) -> Bool {
        (missed, capability.position) < (other.missed, other.capability.position)
    }
}

extension DeviceCapability {
    /// The position in the list of all capabilities.
    var position: Int { Self.allCases.firstIndex(of: self) ?? Self.allCases.count }
}

extension SourceDeviceInfo.DeviceType {
    /// The order of preference without constraints.
    fileprivate var distance: Int {
        switch self {
        case .physical: 0
        case .systemOutput: 1
        case .uri: 2
        case .synthetic: 3
        case .null: 4
        }
    }
}

extension ConstraintCandidate where Configuration == AudioConfiguration {
    init(device: SourceDevice, order: Int, audio: AudioCapabilities, constraintSet: DeviceConstraintSet) {
        let layoutConstraint = constraintSet[.audioChannelLayout]
        let layout = EnumConstraint(layoutConstraint).evaluate(
            [.channelLayout(.stereo), .channelLayout(.mono)], instead: nil,
            reasonIfMissing: "it is not a channel layout")
        let patterns = PolarPattern.allCases.filter(audio.polarPatterns.contains)
        let pattern = EnumConstraint(constraintSet[.polarPattern]).evaluate(
            [.polarPattern(.automatic)] + patterns.map { .polarPattern($0) },
            instead: patterns.first.map { .polarPattern($0) },
            reasonIfMissing: patterns.isEmpty
                ? "its polar pattern is unknown" : "it is \(patterns.map(\.rawValue).joined(separator: " or "))")
        let echo = EnumConstraint(constraintSet[.audioEchoCancellationMode]).evaluate(
            [.echoCancellation(.automatic), .echoCancellation(.off)]
                + (audio.canCancelEcho ? [.echoCancellation(.on)] : []), instead: nil,
            reasonIfMissing: "it is not a microphone, so it has no echo")
        var configuration = AudioConfiguration()
        if case .channelLayout(let layout) = layout.value { configuration.channels = layout }
        if case .polarPattern(let pattern) = pattern.value { configuration.polarPattern = pattern }
        if case .echoCancellation(let mode) = echo.value { configuration.echoCancellation = mode }
        var rank = FitnessRank()
        let isDoubled = configuration.channels.channels > audio.channels.upperBound
        rank.doubledChannels = layoutConstraint.isNamed && isDoubled ? 1 : 0
        self.init(
            device: device, order: order, rank: rank,
            settings: device.fixedPropertyFits(by: constraintSet) + [layout.fit, pattern.fit, echo.fit], others: [],
            configuration: configuration, text: configuration.channels.rawValue + (isDoubled ? ", of one channel" : ""))
    }
}

extension ConstraintCandidate where Configuration == VideoConfiguration {
    init(
        device: SourceDevice, order: Int, format: VideoFormatChoice, capabilities: VideoCapabilities,
        constraintSet: DeviceConstraintSet
    ) {
        let flash = EnumConstraint(constraintSet[.flashMode]).evaluate(
            [.flashMode(.automatic)] + Self.ordered(capabilities.flashModes.union([.alwaysOff])).map { .flashMode($0) },
            instead: nil, reasonIfMissing: "it has no flash")
        let modes = capabilities.autoFocusModes
        let focus = EnumConstraint(constraintSet[.autoFocusMode]).evaluate(
            [.autoFocusMode(.automatic)] + Self.ordered(modes).map { .autoFocusMode($0) },
            instead: modes.isEmpty ? nil : .autoFocusMode(.automatic),
            reasonIfMissing: "it does not support this focus mode")
        let targetConstraint = constraintSet[.autoFocusTarget]
        let target = EnumConstraint(targetConstraint).evaluate(
            capabilities.hasFocusTarget ? targetConstraint.targets : [], instead: nil,
            reasonIfMissing: "it has no focus target")
        let rotation = EnumConstraint(constraintSet[.videoSourceRotationMode]).evaluate(
            [.rotationMode(.automatic), .rotationMode(.followUIRotation)]
                + (capabilities.canFollowDevice ? [.rotationMode(.followDeviceRotation)] : []),
            instead: .rotationMode(.followUIRotation), reasonIfMissing: "it does not report its orientation")
        var configuration = VideoConfiguration(
            encoding: format.encoding, dimensions: format.size.native, frameRate: format.frameRate.native)
        if format.size.isDerived { configuration.scaledDimensions = format.size.output }
        if format.frameRate.isDerived { configuration.reducedFrameRate = format.frameRate.output }
        if case .flashMode(let mode) = flash.value { configuration.flashMode = mode }
        if case .autoFocusMode(let mode) = focus.value { configuration.autoFocusMode = mode }
        if case .focusTarget(let target) = target.value { configuration.focusTarget = target }
        if case .rotationMode(let mode) = rotation.value { configuration.rotationMode = mode }
        self.init(
            device: device, order: order, rank: format.rank,
            settings: device.fixedPropertyFits(by: constraintSet) + [flash.fit, focus.fit, target.fit, rotation.fit],
            others: format.fits,
            configuration: configuration, text: "\(format)", textReason: format.reason)
    }

    private static func ordered<Mode: CaseIterable & Hashable>(_ modes: Set<Mode>) -> [Mode] {
        Mode.allCases.filter(modes.contains)
    }
}

extension CapabilityConstraint {
    /// The focus targets of the constraints.
    fileprivate var targets: [DeviceConstraint.Value] {
        (demands + ideals).map(\.value).filter { if case .focusTarget = $0 { true } else { false } }
    }
}

extension SourceDevice {
    /// Returns the fitness of the device's unchangeable properties.
    func fixedPropertyFits(by constraintSet: DeviceConstraintSet) -> [CapabilityFit] {
        let isFacingKnown = info.facingMode != .undefined && info.facingMode != .automatic
        let isLocationKnown = info.location != .automatic
        return [
            EnumConstraint(constraintSet[.facingMode]).evaluate(
                [.facingMode(info.facingMode)], instead: isFacingKnown ? .facingMode(info.facingMode) : nil,
                reasonIfMissing: isFacingKnown
                    ? "its facing mode is \(info.facingMode.rawValue)" : "its facing mode is unknown"),
            EnumConstraint(constraintSet[.location]).evaluate(
                [.location(info.location)], instead: isLocationKnown ? .location(info.location) : nil,
                reasonIfMissing: isLocationKnown
                    ? "its location is \(info.location.rawValue)" : "its location is unknown"),
            EnumConstraint(constraintSet[.deviceID]).evaluate(
                [.text(info.id)], instead: .text(info.id), reasonIfMissing: "it is unavailable; \(info.id) is used"),
        ].map(\.fit)
    }
}
