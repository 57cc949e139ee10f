public import PCastMedia

/// Nothing leaves a link for `span` at the end of each `period`, and what came meanwhile leaves afterwards at once, as
/// on a radio channel that others hold.
public struct Stall: Hashable, Sendable {
    public let span, period: TimeSpan

    public init(_ span: TimeSpan, each period: TimeSpan) {
        precondition(span >= .zero && span < period)
        self.span = span
        self.period = period
    }

    /// The end of the stall that an instant lies in; nil between stalls.
    ///
    /// - Parameter age: how long the link has stood.
    func remainder(at age: TimeSpan) -> TimeSpan? {
        let place = age.nanoseconds % period.nanoseconds
        return place >= (period - span).nanoseconds ? period - .nanoseconds(place) : nil
    }
}
