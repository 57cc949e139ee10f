import PCastCore

/// The delay before a connection attempt: min(1000·n², 60000) ms before the n-th consecutive attempt, counted from 0. A
/// random delay of up to 5 s is added, so that the clients of a restarted platform do not connect at the same time.
enum ReconnectionDelay {
    private static let longest: Int64 = 60_000

    /// The time for which refused connections are retried quickly, as one attempt, because the platform is probably
    /// restarting.
    private static let knocking = TimeSpan.seconds(3)
    /// The minimum delay of a quick retry.
    private static let minimumQuickRetryDelay = TimeSpan.milliseconds(150)
    /// The maximum delay of a quick retry.
    private static let maximumQuickRetryDelay = TimeSpan.milliseconds(300)

    /// Returns the delay before an attempt. `attempt` is counted from 0, which is made at once.
    static func before(attempt: Int, using generator: inout some RandomNumberGenerator) -> TimeSpan {
        let count = Int64(min(max(attempt, 0), 100))
        let pause = min(1_000 * count * count, longest)
        let jitterLimit = min(Double(pause) / 10_000, 5)  // seconds
        return .milliseconds(pause) + TimeSpan(seconds: Double.random(in: 0...jitterLimit, using: &generator))
    }

    /// Returns the delay before a quick retry; nil after the time for those. `offline` is the time since the connection
    /// was lost.
    static func beforeQuickRetry(
        offline: TimeSpan, using generator: inout some RandomNumberGenerator
    ) -> TimeSpan? {
        guard offline < knocking else { return nil }
        return TimeSpan(
            seconds: Double.random(
                in: minimumQuickRetryDelay.seconds...maximumQuickRetryDelay.seconds, using: &generator))
    }
}
