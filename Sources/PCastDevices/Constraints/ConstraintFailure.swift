/// A required constraint that no device satisfies.
///
/// If there are several, it is the one that requires the least relaxation: with the nearest available value, as many
/// constraints as possible are satisfied.
public struct ConstraintFailure: Error, Hashable, Sendable {
    /// The capability of the constraint.
    public var capability: DeviceCapability
    /// The constraint that is unsatisfied.
    public var constraint: DeviceConstraint
    /// The nearest available value, for display; nil if no suitable device has the capability.
    public var nearest: String?

    /// Another required constraint of the same capability that contradicts this one, such as a maximum below the
    /// minimum; nil if there is none.
    public var contradiction: DeviceConstraint?

    /// Creates a failure.
    public init(
        capability: DeviceCapability, constraint: DeviceConstraint, nearest: String?,
        contradiction: DeviceConstraint? = nil
    ) {
        self.capability = capability
        self.constraint = constraint
        self.nearest = nearest
        self.contradiction = contradiction
    }
}

extension ConstraintFailure: CustomStringConvertible {
    /// The failure for display, with the nearest available value.
    public var description: String {
        let demand = "\(capability.rawValue) \(constraint)"
        let along = contradiction.map { ", which contradicts \(capability.rawValue) \($0)" } ?? ""
        guard let nearest else { return "no device satisfies the required constraint \(demand)\(along)." }
        return
            "no device satisfies the required constraint \(demand)\(along); the nearest available value is \(nearest)."
    }
}
