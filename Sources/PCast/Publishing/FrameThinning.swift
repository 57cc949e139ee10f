/// Leaves pictures out evenly, to a share of those that come.
struct FrameThinning: Sendable {
    private var due = 1.0

    /// Whether the next picture is taken.
    ///
    /// - Parameter share: of the pictures, 0...1; all of them from 1 on.
    mutating func takes(_ share: Double) -> Bool {
        guard share < 1 else {
            due = 1
            return true
        }
        // Sums of thirds are not whole.
        guard due > 0.999 else {
            due += share
            return false
        }
        due += share - 1
        return true
    }
}
