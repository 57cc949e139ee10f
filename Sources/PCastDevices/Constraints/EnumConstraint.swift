/// The constraints of a capability that is one of several values.
struct EnumConstraint: Sendable {
    let capabilityConstraint: CapabilityConstraint

    init(_ capabilityConstraint: CapabilityConstraint) { self.capabilityConstraint = capabilityConstraint }

    /// Returns the best value and its fitness. `possible` are the values that the device supports, starting with the
    /// default. `instead` is the alternative to report for an unsatisfied required constraint; nil if the device lacks
    /// the capability. `reasonIfMissing` is the reason to report for a value that is not possible.
    func evaluate(_ possible: [DeviceConstraint.Value], instead: DeviceConstraint.Value?, reasonIfMissing: String) -> (
        value: DeviceConstraint.Value?, fit: CapabilityFit
    ) {
        var best: (value: DeviceConstraint.Value, score: FitnessScore)?
        for value in possible {
            let score = self.score(of: value)
            if let best, best.score <= score { continue }
            best = (value, score)
        }
        let value = best?.value
        var fit = CapabilityFit(capability: capabilityConstraint.capability)
        fit.unmetDemands = capabilityConstraint.demands.filter { !isMet($0, by: value) }.map { demand in
            let nearest = possible.contains(demand.value) ? value : instead
            return CapabilityFit.UnsatisfiedConstraint(
                capability: capabilityConstraint.capability, constraint: demand, missed: missed(demand),
                nearest: nearest?.description)
        }
        guard !capabilityConstraint.ideals.isEmpty else { return (value, fit) }
        let unsatisfied = capabilityConstraint.ideals.filter { !isMet($0, by: value) }
        fit.distance = Double(unsatisfied.count) * FitnessDistance.other
        if let ideal = unsatisfied.first {
            fit.unmet = reason(ideal, value: value, possible: possible, reasonIfMissing: reasonIfMissing)
        }
        return (value, fit)
    }

    private func score(of value: DeviceConstraint.Value) -> FitnessScore {
        var score = FitnessScore()
        for demand in capabilityConstraint.demands where !isMet(demand, by: value) {
            score.unmetDemands += 1
            score.missed += missed(demand)
        }
        score.distance = Double(capabilityConstraint.ideals.count { !isMet($0, by: value) })
        return score
    }

    /// Returns whether a value satisfies a constraint. A minimum or maximum is never satisfied.
    private func isMet(_ constraint: DeviceConstraint, by value: DeviceConstraint.Value?) -> Bool {
        if constraint.value.asksNothing { return true }
        return value == constraint.value && constraint.kind != .min && constraint.kind != .max
    }

    /// Returns the distance of an unsatisfied constraint. It is larger for an identifier, so that any other constraint
    /// is relaxed first.
    private func missed(_ demand: DeviceConstraint) -> Double {
        capabilityConstraint.capability == .deviceID ? 2 * FitnessDistance.other : FitnessDistance.other
    }

    private func reason(
        _ ideal: DeviceConstraint, value: DeviceConstraint.Value?, possible: [DeviceConstraint.Value],
        reasonIfMissing: String
    ) -> String {
        guard let value, possible.contains(ideal.value) else { return reasonIfMissing }
        return "\(value) instead of \(ideal.value)"
    }
}

extension DeviceConstraint.Value {
    /// Whether any value satisfies the constraint: `automatic` leaves the choice to the device.
    var asksNothing: Bool {
        switch self {
        case .facingMode(.automatic), .flashMode(.automatic), .location(.automatic), .polarPattern(.automatic),
            .echoCancellation(.automatic), .rotationMode(.automatic), .autoFocusMode(.automatic):
            true
        default: false
        }
    }
}

/// All constraints of one capability.
struct CapabilityConstraint: Sendable {
    let capability: DeviceCapability
    let demands: [DeviceConstraint]
    let ideals: [DeviceConstraint]

    init(_ capability: DeviceCapability, _ constraints: [DeviceConstraint] = []) {
        self.capability = capability
        demands = constraints.filter { $0.kind != .ideal }
        ideals = constraints.filter { $0.kind == .ideal }
    }

    var isEmpty: Bool { demands.isEmpty && ideals.isEmpty }

    /// Whether a value is preferred or required, as opposed to only bounds.
    var isNamed: Bool { !ideals.isEmpty || demands.contains { $0.kind == .exact } }
}

/// All constraints of a device, by capability.
struct DeviceConstraintSet: Sendable {
    private let byCapability: [DeviceCapability: CapabilityConstraint]

    init(_ constraints: DeviceConstraints) {
        var byCapability: [DeviceCapability: CapabilityConstraint] = [:]
        for (capability, list) in constraints where !list.isEmpty {
            byCapability[capability] = CapabilityConstraint(capability, list)
        }
        self.byCapability = byCapability
    }

    subscript(_ capability: DeviceCapability) -> CapabilityConstraint {
        byCapability[capability] ?? CapabilityConstraint(capability)
    }
}

extension CapabilityConstraint {
    /// Returns a required constraint that no device can satisfy together with the given one; nil if there is none.
    func contradiction(of demand: DeviceConstraint) -> DeviceConstraint? {
        demands.first { $0 != demand && areContradictory(demand, $0) }
    }

    private func areContradictory(_ one: DeviceConstraint, _ other: DeviceConstraint) -> Bool {
        if one.value.asksNothing || other.value.asksNothing { return false }
        guard case .number(let left) = one.value, case .number(let right) = other.value else {
            return one.kind == .exact && other.kind == .exact
        }
        // The bounds of a constraint are the first values to satisfy another one.
        let numeric = NumericConstraint(self)
        return !numeric.isMet(other, by: left) && !numeric.isMet(one, by: right)
    }
}
