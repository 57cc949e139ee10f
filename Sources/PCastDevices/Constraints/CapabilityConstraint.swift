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
    private let aims: [DeviceCapability: CapabilityConstraint]

    init(_ constraints: DeviceConstraints) {
        var aims: [DeviceCapability: CapabilityConstraint] = [:]
        for (capability, list) in constraints where !list.isEmpty {
            aims[capability] = CapabilityConstraint(capability, list)
        }
        self.aims = aims
    }

    subscript(_ capability: DeviceCapability) -> CapabilityConstraint {
        aims[capability] ?? CapabilityConstraint(capability)
    }
}
