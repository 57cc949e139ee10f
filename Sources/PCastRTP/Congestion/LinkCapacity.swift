/// What a path was seen to carry when it was full, and how sure that is (libwebrtc's `LinkCapacityEstimator`).
struct LinkCapacity: Sendable {
    private static let weight = 0.05
    private static let probeWeight = 0.5

    /// Kilobits a second.
    private(set) var estimate: Double?
    private var deviation = 0.4

    private var spread: Double { 3 * (deviation * (estimate ?? 0)).squareRoot() }

    var upperBound: Double { estimate.map { $0 + spread } ?? .infinity }
    var lowerBound: Double { estimate.map { max(0, $0 - spread) } ?? 0 }

    mutating func reset() { estimate = nil }
    mutating func filled(at kilobits: Double) { update(kilobits, weight: Self.weight) }
    mutating func probed(_ kilobits: Double) { update(kilobits, weight: Self.probeWeight) }

    private mutating func update(_ sample: Double, weight: Double) {
        let estimate = estimate.map { (1 - weight) * $0 + weight * sample } ?? sample
        let error = estimate - sample
        deviation = (1 - weight) * deviation + weight * error * error / max(estimate, 1)
        deviation = min(max(deviation, 0.4), 2.5)
        self.estimate = estimate
    }
}
