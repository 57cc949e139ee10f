public import PCastMedia

/// When a notification that was not taken is tried again.
public struct RetrySchedule: Sendable, Hashable {
    /// The wait after each failed attempt; after the last, it is kept aside.
    public var waits: [TimeSpan]

    public init(waits: [TimeSpan]) { self.waits = waits }

    /// Close together at first, as most failures are a restart, and then over three days, as the others are a weekend
    /// (after the schedule that Standard Webhooks recommends).
    public static let standard = RetrySchedule(
        waits: [1, 5, 30, 120, 600, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map { .seconds($0) })

    /// What follows a failed attempt.
    ///
    /// - Parameters:
    ///   - attempts: the failed ones before it.
    ///   - chance: in [0, 1): how far the wait is stretched, up to a fifth, so that what failed together does not come
    ///     together again.
    ///   - asked: what the receiver asked to be left alone for; counted up to a day.
    public func outcome(
        afterAttempts attempts: Int, at now: WallTime, chance: Double, asked: TimeSpan? = nil
    ) -> Records.Outcome {
        guard waits.indices.contains(attempts) else { return .aside }
        let wait = TimeSpan(seconds: waits[attempts].seconds * (1 + 0.2 * chance))
        return .retry(at: now + max(wait, min(asked ?? .zero, .seconds(86_400))))
    }
}
