/// The fitness distance of the W3C's Media Capture and Streams
/// (https://www.w3.org/TR/mediacapture-streams/#dfn-fitness-distance).
enum FitnessDistance {
    /// Of what is either so or not.
    static let other = 1.0

    /// Between numbers: from 0, when they are equal, to 1.
    static func between(_ actual: Double, _ ideal: Double) -> Double {
        guard actual != ideal else { return 0 }
        guard ideal.isFinite, actual.isFinite else { return other }
        return min(abs(actual - ideal) / max(abs(actual), abs(ideal)), other)
    }

    /// Without what the order of a sum makes of its last digits, so that equal sums are equal.
    static func comparable(_ sum: Double) -> Double { (sum * 1e9).rounded() }
}
