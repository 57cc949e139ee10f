/// The contribution of a part of a configuration to its rank. The parts are independent, so the best parts form the
/// best whole.
struct FitnessScore: Sendable {
    var unmetDemands = 0
    var missed = 0.0
    var distance = 0.0
    var defaults = 0.0

    static func + (left: FitnessScore, right: FitnessScore) -> FitnessScore {
        FitnessScore(
            unmetDemands: left.unmetDemands + right.unmetDemands, missed: left.missed + right.missed,
            distance: left.distance + right.distance, defaults: left.defaults + right.defaults)
    }
}

extension FitnessScore: Comparable {
    static func < (left: FitnessScore, right: FitnessScore) -> Bool { left.sums < right.sums }

    static func == (left: FitnessScore, right: FitnessScore) -> Bool { left.sums == right.sums }

    private var sums: (Int, Double, Double, Double) {
        (
            unmetDemands, FitnessDistance.comparable(missed), FitnessDistance.comparable(distance),
            FitnessDistance.comparable(defaults)
        )
    }
}
