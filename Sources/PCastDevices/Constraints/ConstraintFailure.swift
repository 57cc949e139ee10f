/// A hard constraint that no device on the machine can meet.
///
/// Of several it is the one whose relaxation is nearest: with its value made the nearest that could be had, as many
/// demands are met as can be.
public struct ConstraintFailure: Error, Hashable, Sendable {
    public var capability: DeviceCapability
    public var constraint: DeviceConstraint
    /// The nearest value that could be had, as people write it; nil when what meets the other demands has no such
    /// capability at all.
    public var nearest: String?

    /// Another demand of the same capability that no device could ever meet along with this one, such as a maximum below
    /// the minimum.
    public var contradiction: DeviceConstraint?

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
    public var description: String {
        let demand = "\(capability.rawValue) \(constraint)"
        let along = contradiction.map { ", which contradicts \(capability.rawValue) \($0)" } ?? ""
        guard let nearest else { return "no device has what is demanded: \(demand)\(along)." }
        return "no device has what is demanded: \(demand)\(along); the nearest that could be had is \(nearest)."
    }
}
