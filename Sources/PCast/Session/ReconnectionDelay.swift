import PCastCore

/// How long to wait before connecting again: min(1000·n², 60000) ms before the n-th attempt in a row, counted from 0, and up
/// to 5 s more at random, so that the clients of a platform that restarts do not all come at once.
enum ReconnectionDelay {
    private static let longest: Int64 = 60_000

    /// Where nothing listens any more, the platform is being restarted: for so long it is knocked at again and again, as one
    /// attempt.
    private static let knocking = TimeSpan.seconds(3)
    private static let shortestKnock = TimeSpan.milliseconds(150)
    private static let longestKnock = TimeSpan.milliseconds(300)

    /// - Parameter attempt: counted from 0, which is made at once.
    static func before(attempt: Int, using generator: inout some RandomNumberGenerator) -> TimeSpan {
        let count = Int64(min(max(attempt, 0), 100))
        let pause = min(1_000 * count * count, longest)
        let jitterLimit = min(Double(pause) / 10_000, 5)  // seconds
        return .milliseconds(pause) + TimeSpan(seconds: Double.random(in: 0...jitterLimit, using: &generator))
    }

    /// How long to wait before knocking again; nil when that is over.
    ///
    /// - Parameter offline: since the connection broke.
    static func beforeKnocking(
        offline: TimeSpan, using generator: inout some RandomNumberGenerator
    ) -> TimeSpan? {
        guard offline < knocking else { return nil }
        return TimeSpan(
            seconds: Double.random(in: shortestKnock.seconds...longestKnock.seconds, using: &generator))
    }
}
