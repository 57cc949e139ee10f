public import PCastCore

/// The delays between attempts to deliver a notification.
public struct RetrySchedule: Sendable, Hashable {
    /// The delay after each failed attempt. A failure after the last delay is final.
    public var waits: [TimeSpan]

    /// Creates a schedule from its delays.
    public init(waits: [TimeSpan]) { self.waits = waits }

    /// The default schedule, after the recommendation of Standard Webhooks. The first delays are short, because most
    /// failures are restarts. The later ones cover three days, because other failures last a weekend.
    public static let standard = RetrySchedule(
        waits: [1, 5, 30, 120, 600, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map { .seconds($0) })

    /// Returns the result of a failed attempt after a number of earlier failed attempts.
    ///
    /// `random`, from 0 to below 1, extends the delay by up to a fifth, so that deliveries that failed together are not
    /// retried together. `asked` is the delay that the receiver requested; at most a day is used.
    public func outcome(
        afterAttempts attempts: Int, at now: WallTime, random: Double, asked: TimeSpan? = nil
    ) -> Records.Outcome {
        guard waits.indices.contains(attempts) else { return .failed }
        let wait = TimeSpan(seconds: waits[attempts].seconds * (1 + 0.2 * random))
        return .retry(at: now + max(wait, min(asked ?? .zero, .seconds(86_400))))
    }
}
