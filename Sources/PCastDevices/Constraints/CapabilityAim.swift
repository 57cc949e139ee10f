/// All constraints of one capability.
struct CapabilityAim: Sendable {
    let capability: DeviceCapability
    let demands: [DeviceConstraint]
    let wishes: [DeviceConstraint]

    init(_ capability: DeviceCapability, _ constraints: [DeviceConstraint] = []) {
        self.capability = capability
        demands = constraints.filter { $0.kind != .ideal }
        wishes = constraints.filter { $0.kind == .ideal }
    }

    var isEmpty: Bool { demands.isEmpty && wishes.isEmpty }

    /// Whether a value is preferred or required, as opposed to only bounds.
    var isNamed: Bool { !wishes.isEmpty || demands.contains { $0.kind == .exact } }
}

/// All constraints of a device, by capability.
struct CapabilityAims: Sendable {
    private let aims: [DeviceCapability: CapabilityAim]

    init(_ constraints: DeviceConstraints) {
        var aims: [DeviceCapability: CapabilityAim] = [:]
        for (capability, list) in constraints where !list.isEmpty { aims[capability] = CapabilityAim(capability, list) }
        self.aims = aims
    }

    subscript(_ capability: DeviceCapability) -> CapabilityAim { aims[capability] ?? CapabilityAim(capability) }
}
