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
    func failure(_ aims: DeviceConstraintSet) -> ConstraintFailure? {
        let unmet = fits.flatMap(\.unmetDemands)
        guard let named = unmet.min(by: { $0.isNamedBefore($1) }) else { return nil }
        return ConstraintFailure(
            capability: named.capability, constraint: named.constraint, nearest: named.nearest,
            contradiction: aims[named.capability].contradiction(of: named.constraint))
    }

    /// The reason for each capability whose ideal value is unsatisfied.
    var unmet: [DeviceCapability: String] {
        var unmet: [DeviceCapability: String] = [:]
        for fit in fits { unmet[fit.capability] = fit.unmet }
        return unmet
    }

    var explained: ConstraintExplanation.Candidate {
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
