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
