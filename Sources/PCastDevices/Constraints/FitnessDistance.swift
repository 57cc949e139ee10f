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
