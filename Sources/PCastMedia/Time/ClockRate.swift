/// The ticks a second of a media clock, such as an RTP timestamp's.
public struct ClockRate: Hashable, Sendable {
    public var hertz: Int64

    public init(hertz: Int64) {
        precondition(hertz > 0, "a clock rate is positive")
        self.hertz = hertz
    }

    /// 90 kHz, the RTP clock of every video codec here (RFC 6184 section 8.2.1, RFC 7741 section 6.1).
    public static let video = ClockRate(hertz: 90_000)

    /// 48 kHz, the RTP clock of Opus whatever the sampling rate (RFC 7587, section 4.1).
    public static let opus = ClockRate(hertz: 48_000)

    /// Rounds to the nearest tick.
    public func ticks(in span: TimeSpan) -> Int64 {
        let (seconds, nanoseconds) = span.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let fraction = nanoseconds * hertz
        let rounded = (fraction + (fraction < 0 ? -500_000_000 : 500_000_000)) / 1_000_000_000
        return seconds * hertz + rounded
    }

    public func span(ofTicks ticks: Int64) -> TimeSpan {
        let (seconds, rest) = ticks.quotientAndRemainder(dividingBy: hertz)
        return TimeSpan(nanoseconds: seconds * 1_000_000_000 + rest * 1_000_000_000 / hertz)
    }
}
