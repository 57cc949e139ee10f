import PCastCore

/// Decides the delay of the reference signal from successive estimates.
///
/// Two estimates must agree, because single ones in the first half second may be wrong. A delay is kept while the
/// filter covers the echo from there on, or while it cancels the echo whatever the estimates say.
struct DelayChoice {
    /// The reference is read earlier than the estimated delay by this time, because the first arrival is not always the
    /// loudest.
    static let lead = TimeSpan.milliseconds(8)

    /// The ratio of a peak to its surroundings below which it may be noise, which reaches 5.
    private static let clearness: Float = 7

    /// The power of the faintest echo that is cancelled.
    private static let gain: Float = 1e-4

    /// The largest difference of two estimates that agree.
    private static let agreement = TimeSpan.milliseconds(6)

    /// The range around the lead in which the filter covers the start of the echo.
    private static let reach = (early: TimeSpan.milliseconds(-6), late: TimeSpan.milliseconds(30))

    /// The number of successive contradicting estimates before the delay changes: half a second of audio.
    private static let timeout = 4

    private var last: TimeSpan?
    private var contradictions = 0

    /// Adds an estimate. `chosen` is the current delay; nil at the start. `isHelping` tells whether the filter cancels
    /// most of the echo. Returns a new delay; nil to keep the current one.
    mutating func consider(_ estimate: DelayEstimator.Estimate, chosen: TimeSpan?, isHelping: Bool) -> TimeSpan? {
        let isBelievable =
            estimate.clearness > Self.clearness && estimate.gain > Self.gain
            && estimate.delay > DelayEstimator.earliestDelay + .milliseconds(1)
        guard isBelievable else { return nil }
        let agrees = last.map { (estimate.delay - $0).magnitude < Self.agreement } ?? false
        last = estimate.delay
        let choice = estimate.delay - Self.lead
        if let chosen {
            let contradicts = choice - chosen < Self.reach.early || choice - chosen > Self.reach.late
            contradictions = agrees && contradicts ? contradictions + 1 : 0
            guard contradictions >= Self.timeout, !isHelping else { return nil }
        } else if !agrees {
            return nil
        }
        contradictions = 0
        return choice
    }
}
