import PCastMedia

/// How long to wait before connecting again: min(1000·n², 60000) ms for the n-th attempt in a row, and up to 5 s more
/// at random, so that the clients of a platform that restarts do not all come at once.
enum ReconnectionDelay {
    private static let longest: Int64 = 60_000

    /// - Parameter attempt: counted from 1.
    static func before(attempt: Int, using generator: inout some RandomNumberGenerator) -> TimeSpan {
        let count = Int64(min(max(attempt, 1), 100))
        let pause = min(1_000 * count * count, longest)
        let jitterLimit = min(Double(pause) / 10_000, 5)  // seconds
        return .milliseconds(pause) + TimeSpan(seconds: Double.random(in: 0...jitterLimit, using: &generator))
    }
}
