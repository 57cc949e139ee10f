/// The contribution of a part of a configuration to its rank. The parts are independent, so the best parts form the
/// best whole.
struct FitnessScore: Sendable {
    var unmetDemands = 0
    var missed = 0.0
    var distance = 0.0
    /// The number of values that no mode of the device has, so that frames are scaled or dropped, and what that costs.
    var derived = 0
    var loss = 0.0
    var surplus = 0.0
    var defaults = 0.0

    static func + (left: FitnessScore, right: FitnessScore) -> FitnessScore {
        FitnessScore(
            unmetDemands: left.unmetDemands + right.unmetDemands, missed: left.missed + right.missed,
            distance: left.distance + right.distance, derived: left.derived + right.derived,
            loss: left.loss + right.loss, surplus: left.surplus + right.surplus,
            defaults: left.defaults + right.defaults)
    }
}

extension FitnessScore: Comparable {
    static func < (left: FitnessScore, right: FitnessScore) -> Bool {
        left.needs == right.needs ? left.costs < right.costs : left.needs < right.needs
    }

    static func == (left: FitnessScore, right: FitnessScore) -> Bool {
        left.needs == right.needs && left.costs == right.costs
    }

    private var needs: (Int, Double, Double) {
        (unmetDemands, FitnessDistance.comparable(missed), FitnessDistance.comparable(distance))
    }

    private var costs: (Int, Double, Double, Double) {
        (
            derived, FitnessDistance.comparable(loss), FitnessDistance.comparable(defaults),
            FitnessDistance.comparable(surplus)
        )
    }
}

/// The fitness distance of W3C Media Capture and Streams
/// (https://www.w3.org/TR/mediacapture-streams/#dfn-fitness-distance).
enum FitnessDistance {
    /// The distance of a value that is not a number and differs.
    static let other = 1.0

    /// Returns the distance of two numbers, from 0 if they are equal to 1.
    static func between(_ actual: Double, _ ideal: Double) -> Double {
        guard actual != ideal else { return 0 }
        guard ideal.isFinite, actual.isFinite else { return other }
        return min(abs(actual - ideal) / max(abs(actual), abs(ideal)), other)
    }

    /// Returns a sum without rounding errors, so that equal sums compare as equal.
    static func comparable(_ sum: Double) -> Double { (sum * 1e9).rounded() }
}

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

/// The rank of a device in one configuration; the smallest wins. `ConstraintSolver` describes the order of the
/// criteria.
struct FitnessRank: Hashable, Sendable {
    /// The number of unsatisfied required constraints, and the sum of their distances. They only serve to report the
    /// failure.
    var unmetDemands = 0
    var missed = 0.0

    var deviceDistance = 0.0
    var deviceKind = 0
    var distance = 0.0
    var derived = 0
    var loss = 0.0
    var doubledChannels = 0
    var order = 0
    var defaults = 0.0
    var surplus = 0.0
    var encodingCost = 0
    var area = 0.0
    var deviation = 0.0
    var rate = 0.0

    private static func compare(_ left: Double, _ right: Double) -> Int {
        let (left, right) = (FitnessDistance.comparable(left), FitnessDistance.comparable(right))
        return left == right ? 0 : left < right ? -1 : 1
    }

    private static func compare(_ left: Int, _ right: Int) -> Int { left == right ? 0 : left < right ? -1 : 1 }
}

extension FitnessRank: Comparable {
    static func < (left: FitnessRank, right: FitnessRank) -> Bool {
        for step in Step.allCases {
            let order = step.compare(left, right)
            if order != 0 { return order < 0 }
        }
        return false
    }

    /// Returns the reason why this rank precedes another, for display.
    func advantage(over other: FitnessRank) -> String {
        guard let step = Step.allCases.first(where: { $0.compare(self, other) != 0 }) else { return Step.order.reason }
        return step == .unmetDemands && unmetDemands > 0 ? "it fails fewer required constraints" : step.reason
    }

    private enum Step: CaseIterable {
        case unmetDemands, missed, deviceDistance, deviceKind, distance, derived, loss, doubledChannels, order
        case defaults, surplus, encodingCost, area, deviation, rate

        func compare(_ left: FitnessRank, _ right: FitnessRank) -> Int {
            switch self {
            case .unmetDemands: FitnessRank.compare(left.unmetDemands, right.unmetDemands)
            case .missed: FitnessRank.compare(left.missed, right.missed)
            case .deviceDistance: FitnessRank.compare(left.deviceDistance, right.deviceDistance)
            case .deviceKind: FitnessRank.compare(left.deviceKind, right.deviceKind)
            case .distance: FitnessRank.compare(left.distance, right.distance)
            case .derived: FitnessRank.compare(left.derived, right.derived)
            case .loss: FitnessRank.compare(left.loss, right.loss)
            case .doubledChannels: FitnessRank.compare(left.doubledChannels, right.doubledChannels)
            case .order: FitnessRank.compare(left.order, right.order)
            case .defaults: FitnessRank.compare(left.defaults, right.defaults)
            case .surplus: FitnessRank.compare(left.surplus, right.surplus)
            case .encodingCost: FitnessRank.compare(left.encodingCost, right.encodingCost)
            case .area: FitnessRank.compare(right.area, left.area)
            case .deviation: FitnessRank.compare(left.deviation, right.deviation)
            case .rate: FitnessRank.compare(right.rate, left.rate)
            }
        }

        var reason: String {
            switch self {
            case .unmetDemands: "it satisfies all required constraints"
            case .missed: "it is nearer to the required constraints"
            case .deviceDistance: "it was requested by its ID"
            case .deviceKind: "hardware is preferred, then sources with content"
            case .distance: "it is nearer to the ideal constraints"
            case .derived: "it needs no scaling, or less"
            case .loss: "its frames are cut less, or dropped more evenly"
            case .doubledChannels: "it has two channels of its own"
            case .order: "both are equal, and it is listed first"
            case .defaults: "it is nearer to 1280x720 at 30"
            case .surplus: "fewer pixels and frames are dropped"
            case .encodingCost: "its encoding uses less CPU time"
            case .area: "its frames are larger"
            case .deviation: "its frame rate is nearer to the requested one"
            case .rate: "it has a higher frame rate"
            }
        }
    }
}
