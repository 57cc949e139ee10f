/// A moment in a track, in ticks of the track's own clock, unwrapped to 64 bits (RTP10).
public struct MediaTime: Hashable, Sendable {
    public var ticks: Int64
    public var rate: ClockRate

    public init(ticks: Int64, rate: ClockRate) {
        self.ticks = ticks
        self.rate = rate
    }

    /// Since the track's own origin.
    public var span: TimeSpan { rate.span(ofTicks: ticks) }
}
