/// How well one value of a capability serves what is asked of it.
struct CapabilityFit: Hashable, Sendable {
    /// A demand that the value does not meet.
    struct UnmetDemand: Hashable, Sendable {
        var capability: DeviceCapability
        var constraint: DeviceConstraint

        /// How far the value is from it.
        var missed: Double

        /// The value, as what could be had instead; nil when the device has no such capability.
        var nearest: String?
    }

    var capability: DeviceCapability
    var unmetDemands: [UnmetDemand] = []

    /// The sum over all wishes; nil without any.
    var distance: Double?

    /// Why the wishes are not all granted, for people; nil when they are.
    var unmet: String?
}
