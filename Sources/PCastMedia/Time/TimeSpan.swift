/// A length of time in whole nanoseconds; may be negative.
///
/// The core calculates with it for every packet, so it is one 64-bit integer; `Swift.Duration`, which the SDK's
/// callers use, is two and divides slowly.
public struct TimeSpan: Hashable, Sendable {
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    public init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        nanoseconds = seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000
    }

    /// Rounded to the nanosecond.
    public init(seconds: Double) { nanoseconds = Int64((seconds * 1e9).rounded()) }

    public static let zero = TimeSpan(nanoseconds: 0)

    public static func nanoseconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count) }
    public static func microseconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count * 1_000) }
    public static func milliseconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count * 1_000_000) }
    public static func seconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count * 1_000_000_000) }

    /// In milliseconds, with fraction.
    public var milliseconds: Double { Double(nanoseconds) / 1e6 }

    /// In seconds, with fraction.
    public var seconds: Double { Double(nanoseconds) / 1e9 }

    public var duration: Duration { .nanoseconds(nanoseconds) }

    public var magnitude: TimeSpan { TimeSpan(nanoseconds: abs(nanoseconds)) }
}

extension TimeSpan: Comparable {
    public static func < (left: TimeSpan, right: TimeSpan) -> Bool { left.nanoseconds < right.nanoseconds }
}

extension TimeSpan: AdditiveArithmetic {
    public static func + (left: TimeSpan, right: TimeSpan) -> TimeSpan {
        TimeSpan(nanoseconds: left.nanoseconds + right.nanoseconds)
    }

    public static func - (left: TimeSpan, right: TimeSpan) -> TimeSpan {
        TimeSpan(nanoseconds: left.nanoseconds - right.nanoseconds)
    }

    public static prefix func - (span: TimeSpan) -> TimeSpan { TimeSpan(nanoseconds: -span.nanoseconds) }

    public static func * (span: TimeSpan, factor: Int64) -> TimeSpan {
        TimeSpan(nanoseconds: span.nanoseconds * factor)
    }

    public static func / (span: TimeSpan, divisor: Int64) -> TimeSpan {
        TimeSpan(nanoseconds: span.nanoseconds / divisor)
    }
}

extension TimeSpan: CustomStringConvertible {
    public var description: String { "\(milliseconds) ms" }
}
