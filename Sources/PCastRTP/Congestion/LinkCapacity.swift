/// The estimated capacity of the path and its uncertainty (libwebrtc's `LinkCapacityEstimator`).
struct LinkCapacity: Sendable {
    /// The weight of a sample that overuse measured.
    private static let weight = 0.05
    /// The weight of a sample that a probe measured.
    private static let probeWeight = 0.5

    /// The capacity in kilobits per second; nil if it is unknown.
    private(set) var estimate: Double?
    /// The normalized variance of the estimate.
    private var deviation = 0.4

    /// Three standard deviations in kilobits per second.
    private var spread: Double { 3 * (deviation * (estimate ?? 0)).squareRoot() }

    /// The upper bound of the capacity in kilobits per second; infinite if it is unknown.
    var upperBound: Double { estimate.map { $0 + spread } ?? .infinity }
    /// The lower bound of the capacity in kilobits per second; 0 if it is unknown.
    var lowerBound: Double { estimate.map { max(0, $0 - spread) } ?? 0 }

    /// Forgets the capacity.
    mutating func reset() { estimate = nil }
    /// Adds the bit rate that arrived while the path was full.
    mutating func filled(at kilobits: Double) { update(kilobits, weight: Self.weight) }
    /// Adds the bit rate that a probe measured.
    mutating func probed(_ kilobits: Double) { update(kilobits, weight: Self.probeWeight) }

    private mutating func update(_ sample: Double, weight: Double) {
        let estimate = estimate.map { (1 - weight) * $0 + weight * sample } ?? sample
        let error = estimate - sample
        deviation = (1 - weight) * deviation + weight * error * error / max(estimate, 1)
        deviation = min(max(deviation, 0.4), 2.5)
        self.estimate = estimate
    }
}
