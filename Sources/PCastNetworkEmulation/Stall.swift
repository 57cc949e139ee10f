package import PCastCore

/// A periodic stall: no packet leaves the link during the last `span` of each `period`. The packets queue and then
/// leave at once, as on a radio channel that other stations occupy.
package struct Stall: Hashable, Sendable {
    /// The duration of a stall, and the time from the end of one stall to the end of the next.
    package let span, period: TimeSpan

    /// Creates a stall. Traps if `span` is negative or not less than `period`.
    package init(_ span: TimeSpan, each period: TimeSpan) {
        precondition(span >= .zero && span < period)
        self.span = span
        self.period = period
    }

    /// Returns the time until the end of the stall at an age of the link; nil between stalls.
    func remainder(at age: TimeSpan) -> TimeSpan? {
        let phase = age.nanoseconds % period.nanoseconds
        return phase >= (period - span).nanoseconds ? period - .nanoseconds(phase) : nil
    }
}
