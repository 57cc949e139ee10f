/// A duration in whole nanoseconds, which may be negative.
///
/// The core calculates with durations for each packet. Therefore this is one 64-bit integer, while `Swift.Duration`,
/// which callers of the SDK use, has 128 bits and divides slowly.
public struct TimeSpan: Hashable, Sendable {
    /// The number of nanoseconds.
    public var nanoseconds: Int64

    /// Creates a duration of a number of nanoseconds.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Converts a `Duration`, rounded towards zero to a nanosecond.
    public init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        nanoseconds = seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000
    }

    /// Creates a duration of a number of seconds, rounded to the nearest nanosecond.
    public init(seconds: Double) { nanoseconds = Int64((seconds * 1e9).rounded()) }

    /// A duration of zero.
    public static let zero = TimeSpan(nanoseconds: 0)

    /// Returns a duration of a number of nanoseconds.
    public static func nanoseconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count) }
    /// Returns a duration of a number of microseconds.
    public static func microseconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count * 1_000) }
    /// Returns a duration of a number of milliseconds.
    public static func milliseconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count * 1_000_000) }
    /// Returns a duration of a number of seconds.
    public static func seconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count * 1_000_000_000) }

    /// The duration in milliseconds with a fraction.
    public var milliseconds: Double { Double(nanoseconds) / 1e6 }

    /// The duration in seconds with a fraction.
    public var seconds: Double { Double(nanoseconds) / 1e9 }

    /// The duration as a `Duration`.
    public var duration: Duration { .nanoseconds(nanoseconds) }

    /// The absolute value.
    public var magnitude: TimeSpan { TimeSpan(nanoseconds: abs(nanoseconds)) }
}

extension TimeSpan: Comparable {
    /// Returns whether the left duration is shorter.
    public static func < (left: TimeSpan, right: TimeSpan) -> Bool { left.nanoseconds < right.nanoseconds }
}

extension TimeSpan: AdditiveArithmetic {
    /// Returns the sum of two durations.
    public static func + (left: TimeSpan, right: TimeSpan) -> TimeSpan {
        TimeSpan(nanoseconds: left.nanoseconds + right.nanoseconds)
    }

    /// Returns the difference of two durations.
    public static func - (left: TimeSpan, right: TimeSpan) -> TimeSpan {
        TimeSpan(nanoseconds: left.nanoseconds - right.nanoseconds)
    }

    /// Returns the negated duration.
    public static prefix func - (span: TimeSpan) -> TimeSpan { TimeSpan(nanoseconds: -span.nanoseconds) }

    /// Returns a multiple of a duration.
    public static func * (span: TimeSpan, factor: Int64) -> TimeSpan {
        TimeSpan(nanoseconds: span.nanoseconds * factor)
    }

    /// Returns a part of a duration, rounded towards zero to a nanosecond.
    public static func / (span: TimeSpan, divisor: Int64) -> TimeSpan {
        TimeSpan(nanoseconds: span.nanoseconds / divisor)
    }
}

extension TimeSpan: CustomStringConvertible {
    /// The duration in milliseconds as text, such as `1.5 ms`.
    public var description: String { "\(milliseconds) ms" }
}
