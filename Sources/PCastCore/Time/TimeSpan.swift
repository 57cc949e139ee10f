/// A duration in whole nanoseconds, which may be negative.
///
/// The core calculates with durations for each packet. Therefore this is one 64-bit integer, while `Swift.Duration`,
/// which callers of the SDK use, has 128 bits and divides slowly.
public struct TimeSpan: Hashable, Sendable {
    /// The number of nanoseconds.
    public var nanoseconds: Int64

    /// Creates a duration of a number of nanoseconds.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Converts a `Duration`, rounded towards zero to a nanosecond and clamped to 100 years either way.
    public init(_ duration: Duration) {
        let limit = Int64(Self.longestDuration)
        let (seconds, attoseconds) = duration.components
        if seconds >= limit || seconds <= -limit {
            nanoseconds = seconds < 0 ? -limit * 1_000_000_000 : limit * 1_000_000_000
        } else {
            nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        }
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

extension TimeSpan {
    /// Parses an ISO 8601 duration of days, hours, minutes and seconds, such as `PT10S`, `PT0.5S` or `P1DT12H`, in
    /// either case. It is nil for other text, for years, months and weeks, and for more than 100 years.
    public init?(iso8601 text: String) {
        let text = text.lowercased()
        guard text.hasPrefix("p"), let seconds = Self.seconds(text.dropFirst()), seconds <= Self.longestDuration else {
            return nil
        }
        self = TimeSpan(seconds: seconds)
    }

    private static let longestDuration = 100 * 365.25 * 86_400

    private static func seconds(_ text: Substring) -> Double? {
        let halves = text.split(separator: "t", maxSplits: 1, omittingEmptySubsequences: false)
        guard let date = sum(halves[0], units: [("d", 86_400)]) else { return nil }
        guard halves.count == 2 else { return halves[0].isEmpty ? nil : date }
        guard !halves[1].isEmpty, let time = sum(halves[1], units: [("h", 3_600), ("m", 60), ("s", 1)])
        else { return nil }
        return date + time
    }

    /// Returns the sum of numbers with units, in the order of `units`; nil for other text.
    private static func sum(_ text: Substring, units: [(Character, Double)]) -> Double? {
        var rest = text
        var sum = 0.0
        for (unit, factor) in units {
            guard let end = rest.firstIndex(of: unit) else { continue }
            guard let value = number(rest[..<end]) else { return nil }
            sum += value * factor
            rest = rest[rest.index(after: end)...]
        }
        return rest.isEmpty ? sum : nil
    }

    /// Parses digits with an optional fraction; nil for other text that `Double` accepts.
    private static func number(_ text: Substring) -> Double? {
        guard text.count <= 12, text.first?.isNumber == true, text.last?.isNumber == true,
            text.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") })
        else { return nil }
        return Double(text)
    }
}

extension Duration {
    /// The duration in milliseconds with a fraction, rounded towards zero to a nanosecond.
    package var milliseconds: Double { TimeSpan(self).milliseconds }

    /// The duration in seconds with a fraction, rounded towards zero to a nanosecond.
    package var seconds: Double { TimeSpan(self).seconds }
}
