public import PCastCore

/// A sender's limits for the playout delay of receivers (WebRTC's playout-delay header extension).
public struct PlayoutDelay: Hashable, Sendable {
    /// The value, 24 bits: minimum and maximum of 12 bits each, in units of 10 ms.
    public let rawValue: UInt32

    /// Creates limits from the low 24 bits of a value.
    public init(rawValue: UInt32) { self.rawValue = rawValue & 0xFF_FFFF }

    /// The maximum of both limits.
    public static let longest = TimeSpan.milliseconds(0xFFF * 10)

    /// Creates limits, which are rounded down to 10 ms and limited to values from 0 to 40.95 s.
    public init(minimum: TimeSpan, maximum: TimeSpan) {
        rawValue = Self.units(minimum) << 12 | Self.units(maximum)
    }

    /// The minimum playout delay.
    public var minimum: TimeSpan { .milliseconds(Int64(rawValue >> 12) * 10) }
    /// The maximum playout delay.
    public var maximum: TimeSpan { .milliseconds(Int64(rawValue & 0xFFF) * 10) }

    /// Returns a duration in units of 10 ms.
    private static func units(_ span: TimeSpan) -> UInt32 {
        UInt32(min(max(span.nanoseconds / 10_000_000, 0), 0xFFF))
    }
}
