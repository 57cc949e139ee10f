/// The rate of a media clock, such as that of RTP timestamps.
public struct ClockRate: Hashable, Sendable {
    /// The number of ticks per second.
    public var hertz: Int64

    /// Creates a clock rate. Traps if it is not positive.
    public init(hertz: Int64) {
        precondition(hertz > 0, "a clock rate must be positive")
        self.hertz = hertz
    }

    /// 90 kHz, the RTP clock rate of all supported video codecs (RFC 6184, section 8.2.1; RFC 7741, section 6.1).
    public static let video = ClockRate(hertz: 90_000)

    /// 48 kHz, the RTP clock rate of Opus at any sampling rate (RFC 7587, section 4.1).
    public static let opus = ClockRate(hertz: 48_000)

    /// Returns the number of ticks in a duration, rounded to the nearest one.
    public func ticks(in span: TimeSpan) -> Int64 {
        let (seconds, nanoseconds) = span.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let fraction = nanoseconds * hertz
        let rounded = (fraction + (fraction < 0 ? -500_000_000 : 500_000_000)) / 1_000_000_000
        return seconds * hertz + rounded
    }

    /// Returns the duration of a number of ticks, rounded towards zero to a nanosecond.
    @inlinable
    public func span(ofTicks ticks: Int64) -> TimeSpan {
        let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: hertz)
        return TimeSpan(nanoseconds: seconds * 1_000_000_000 + rest * 1_000_000_000 / hertz)
    }
}

/// A time in a track, in ticks of the track's clock. It is extended to 64 bits, because a 32-bit RTP timestamp wraps
/// after 13 hours at 90 kHz.
public struct MediaTime: Hashable, Sendable {
    /// The number of ticks since the origin of the track.
    public var ticks: Int64
    /// The clock rate of the track.
    public var rate: ClockRate

    /// Creates a time from ticks of a clock.
    public init(ticks: Int64, rate: ClockRate) {
        self.ticks = ticks
        self.rate = rate
    }

    /// The duration since the origin of the track.
    public var span: TimeSpan { rate.span(ofTicks: ticks) }
}
