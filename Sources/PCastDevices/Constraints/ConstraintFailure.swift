/// A hard constraint that no device on the machine can meet.
public struct ConstraintFailure: Error, Hashable, Sendable {
    public var capability: DeviceCapability
    public var constraint: DeviceConstraint
    /// The nearest value that could be had, as people write it; nil when no device has the capability at all.
    public var nearest: String?

    public init(capability: DeviceCapability, constraint: DeviceConstraint, nearest: String?) {
        self.capability = capability
        self.constraint = constraint
        self.nearest = nearest
    }
}

extension ConstraintFailure: CustomStringConvertible {
    public var description: String {
        let demand = "\(capability.rawValue) \(constraint.kind.rawValue) \(constraint.value)"
        guard let nearest else { return "no device has what is demanded: \(demand)." }
        return "no device has what is demanded: \(demand); the nearest that could be had is \(nearest)."
    }
}
