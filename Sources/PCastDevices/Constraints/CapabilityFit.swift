/// The fitness of one value of a capability for its constraints.
struct CapabilityFit: Hashable, Sendable {
    /// A required constraint that the value does not satisfy.
    struct UnsatisfiedConstraint: Hashable, Sendable {
        var capability: DeviceCapability
        var constraint: DeviceConstraint

        /// The distance of the value from the constraint.
        var missed: Double

        /// The value, as the nearest alternative; nil if the device lacks the capability.
        var nearest: String?
    }

    var capability: DeviceCapability
    var unmetDemands: [UnsatisfiedConstraint] = []

    /// The sum of the distances from all ideal values; nil without any.
    var distance: Double?

    /// The reason why ideal values are unsatisfied, for display; nil if all are satisfied.
    var unmet: String?
}
