/// A moment on the monotonic clock that the driver of a machine reads; only differences mean anything.
///
/// The core is told instants and never asks for one (DESIGN: "Time is a parameter").
public struct Instant: Hashable, Sendable {
    /// Nanoseconds since the clock's own, arbitrary origin.
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    public static func + (instant: Instant, span: TimeSpan) -> Instant {
        Instant(nanoseconds: instant.nanoseconds + span.nanoseconds)
    }

    public static func - (instant: Instant, span: TimeSpan) -> Instant {
        Instant(nanoseconds: instant.nanoseconds - span.nanoseconds)
    }

    public static func - (later: Instant, earlier: Instant) -> TimeSpan {
        TimeSpan(nanoseconds: later.nanoseconds - earlier.nanoseconds)
    }

    public static func += (instant: inout Instant, span: TimeSpan) { instant = instant + span }
}

extension Instant: Comparable {
    public static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }
}

extension Instant {
    /// The earlier of two deadlines, either of which may be absent.
    public static func earlier(_ left: Instant?, _ right: Instant?) -> Instant? {
        guard let left else { return right }
        guard let right else { return left }
        return min(left, right)
    }
}
