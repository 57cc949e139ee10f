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

/// The fitness distance of the Media Capture specification (https://www.w3.org/TR/mediacapture-streams/#dfn-fitness-distance).
enum FitnessDistance {
    /// Of what is either so or not.
    static let other = 1.0

    /// Between numbers: from 0, when they are equal, to 1.
    static func between(_ actual: Double, _ ideal: Double) -> Double {
        guard actual != ideal else { return 0 }
        guard ideal.isFinite, actual.isFinite else { return other }
        return min(abs(actual - ideal) / max(abs(actual), abs(ideal)), other)
    }
}
