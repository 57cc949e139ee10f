/// A time on the driver's monotonic clock. Only differences between instants have a meaning.
///
/// The core receives instants as parameters and never reads a clock, so that tests control the time.
public struct Instant: Hashable, Sendable {
    /// The nanoseconds since the arbitrary origin of the clock.
    public var nanoseconds: Int64

    /// Creates an instant from nanoseconds since the clock's origin.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Returns the instant that is later by a duration.
    public static func + (instant: Instant, span: TimeSpan) -> Instant {
        Instant(nanoseconds: instant.nanoseconds + span.nanoseconds)
    }

    /// Returns the instant that is earlier by a duration.
    public static func - (instant: Instant, span: TimeSpan) -> Instant {
        Instant(nanoseconds: instant.nanoseconds - span.nanoseconds)
    }

    /// Returns the duration between two instants; negative if `later` is before `earlier`.
    public static func - (later: Instant, earlier: Instant) -> TimeSpan {
        TimeSpan(nanoseconds: later.nanoseconds - earlier.nanoseconds)
    }

    /// Returns the instant that is later by a duration.
    public func advanced(by duration: Duration) -> Instant { self + TimeSpan(duration) }

    /// Returns the duration until another instant; negative if that is earlier.
    public func duration(to other: Instant) -> Duration { (other - self).duration }

    /// Moves an instant by a duration.
    public static func += (instant: inout Instant, span: TimeSpan) { instant = instant + span }
}

extension Instant: Comparable {
    /// Returns whether the left instant is earlier.
    public static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }
}

extension Instant {
    /// Returns the earlier of two optional deadlines; nil if both are nil.
    public static func earlier(_ left: Instant?, _ right: Instant?) -> Instant? {
        guard let left else { return right }
        guard let right else { return left }
        return min(left, right)
    }
}
