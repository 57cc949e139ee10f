import PCastCore

/// A condition with hysteresis: it becomes true after it was observed without interruption for some time, and false
/// after it was not observed for some time.
struct SustainedCondition: Sendable {
    /// The time after which it becomes true.
    private let onset: TimeSpan
    /// The time after which it becomes false.
    private let release: TimeSpan
    /// Whether the condition is true.
    private(set) var holds = false
    /// The time since which the opposite has been observed; nil if it is not.
    private var contrarySince: Instant?

    /// Creates a condition that is false.
    init(onset: TimeSpan, release: TimeSpan) {
        self.onset = onset
        self.release = release
    }

    /// Updates the condition.
    ///
    /// - Parameters:
    ///   - isSeen: Whether the condition is observed; nil if unknown, which changes nothing but interrupts the
    ///     observation.
    ///   - now: The current time.
    mutating func observe(_ isSeen: Bool?, at now: Instant) {
        guard let isSeen, isSeen != holds else {
            contrarySince = nil
            return
        }
        let since = contrarySince ?? now
        contrarySince = since
        guard now - since >= (isSeen ? onset : release) else { return }
        holds = isSeen
        contrarySince = nil
    }
}
