/// The constraints of a capability that is a number.
struct NumericConstraint: Sendable {
    /// The relative difference at which frame rates are equal: 30000/1001 equals both 29.97 and 30.
    static let rateTolerance = 0.01

    let capabilityConstraint: CapabilityConstraint

    /// The relative difference at which numbers are equal.
    let tolerance: Double

    init(_ capabilityConstraint: CapabilityConstraint) {
        self.capabilityConstraint = capabilityConstraint
        tolerance = capabilityConstraint.capability == .frameRate ? Self.rateTolerance : 0
    }

    /// The named numbers, at which the optimum of a range can be.
    var named: [Double] {
        (capabilityConstraint.demands + capabilityConstraint.ideals).compactMap {
            guard case .number(let number) = $0.value, ConstraintNumber.isUsable(number) else { return nil }
            return number
        }
    }

    func isMet(_ constraint: DeviceConstraint, by actual: Double) -> Bool {
        guard case .number(let wanted) = constraint.value else { return false }
        return switch constraint.kind {
        case .min: actual >= wanted * (1 - tolerance)
        case .max: actual <= wanted * (1 + tolerance)
        case .exact, .ideal: isSame(actual, wanted)
        }
    }

    func distance(of actual: Double, from idealConstraint: DeviceConstraint) -> Double {
        guard case .number(let ideal) = idealConstraint.value else { return FitnessDistance.other }
        return isSame(actual, ideal) ? 0 : FitnessDistance.between(actual, ideal)
    }

    /// Returns the score of a number for all constraints together.
    func score(of actual: Double) -> FitnessScore {
        var score = FitnessScore()
        for demand in capabilityConstraint.demands where !isMet(demand, by: actual) {
            score.unmetDemands += 1
            score.missed += missed(demand, by: actual)
        }
        for idealConstraint in capabilityConstraint.ideals {
            score.distance += distance(of: actual, from: idealConstraint)
        }
        return score
    }

    /// Returns the distance from the named numbers without tolerance, which decides between equally suitable numbers.
    func deviation(of actual: Double) -> Double {
        (capabilityConstraint.demands.filter { $0.kind == .exact } + capabilityConstraint.ideals).reduce(0) {
            sum, constraint in
            guard case .number(let wanted) = constraint.value else { return sum }
            return sum + FitnessDistance.between(actual, wanted)
        }
    }

    func fit(of actual: Double) -> CapabilityFit {
        var fit = CapabilityFit(capability: capabilityConstraint.capability)
        let text = ConstraintNumber.rounded(actual)
        fit.unmetDemands = capabilityConstraint.demands.filter { !isMet($0, by: actual) }.map {
            let isNumber = if case .number = $0.value { true } else { false }
            return CapabilityFit.UnsatisfiedConstraint(
                capability: capabilityConstraint.capability, constraint: $0, missed: missed($0, by: actual),
                nearest: isNumber ? text : nil)
        }
        guard !capabilityConstraint.ideals.isEmpty else { return fit }
        fit.distance = capabilityConstraint.ideals.reduce(0) { $0 + distance(of: actual, from: $1) }
        let ungranted = capabilityConstraint.ideals.filter { distance(of: actual, from: $0) > 0 }.map { "\($0.value)" }
        if !ungranted.isEmpty { fit.unmet = "\(text) instead of \(ungranted.joined(separator: " and of "))" }
        return fit
    }

    private func missed(_ demand: DeviceConstraint, by actual: Double) -> Double {
        guard case .number(let wanted) = demand.value else { return FitnessDistance.other }
        return FitnessDistance.between(actual, wanted)
    }

    private func isSame(_ left: Double, _ right: Double) -> Bool {
        guard left.isFinite, right.isFinite else { return false }
        return left == right || abs(left - right) <= tolerance * max(abs(left), abs(right))
    }
}

/// Formatting of numbers.
enum ConstraintNumber {
    /// Returns a number as it is parsed: "1280" and "29.97".
    static func text(_ number: Double) -> String {
        guard let whole = Int(exactly: number) else { return "\(number)" }
        return "\(whole)"
    }

    /// Returns a number rounded to three decimals, or six below 1.
    static func rounded(_ number: Double) -> String {
        let parts = abs(number) < 1 ? 1e6 : 1e3
        return text((number * parts).rounded() / parts)
    }

    /// Returns whether a number can be a number of pixels or a frame rate.
    static func isUsable(_ number: Double) -> Bool { number.isFinite && number > 0 }
}
