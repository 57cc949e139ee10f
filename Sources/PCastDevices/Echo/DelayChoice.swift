import PCastMedia

/// Decides how much later than it was played the reference is read, from one estimate after another.
///
/// Two estimates must agree, as those of the first half second may be chance. A choice stays while the filter reaches
/// what is heard from it, or takes the echo out whatever the estimates say.
struct DelayChoice {
    /// The reference is read this much earlier than the first sound is thought to arrive: the first sound need not be
    /// the loudest.
    static let lead = TimeSpan.milliseconds(8)

    /// Below, a peak may be noise (of the height of a peak over its surroundings; noise reaches 5).
    private static let clearness: Float = 7

    /// Fainter echoes are not worth it, in power.
    private static let gain: Float = 1e-4

    /// Estimates of one delay differ by no more.
    private static let agreement = TimeSpan.milliseconds(6)

    /// An echo that begins within this of the lead is reached by the filter.
    private static let reach = (early: TimeSpan.milliseconds(-6), late: TimeSpan.milliseconds(30))

    /// Estimates in a row that contradict a choice before it is changed: half a second of sound.
    private static let patience = 4

    private var last: TimeSpan?
    private var contradictions = 0

    /// - Parameters:
    ///   - chosen: what is in force; nil at first.
    ///   - isHelping: whether the filter takes a good part of the sound out as it is.
    /// - Returns: another choice, if it must be.
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
            guard contradictions >= Self.patience, !isHelping else { return nil }
        } else if !agrees {
            return nil
        }
        contradictions = 0
        return choice
    }
}
