public import PCastCore

/// The mapping from RTP timestamps of a track to wall-clock time, given by one pair of them.
public struct CaptureClock: Hashable, Sendable {
    /// An RTP timestamp.
    public var timestamp: UInt32
    /// The wall-clock time of the timestamp.
    public var wallTime: WallTime
    /// The clock rate of the timestamps.
    public var rate: ClockRate

    /// Creates a mapping.
    public init(timestamp: UInt32, wallTime: WallTime, rate: ClockRate) {
        self.timestamp = timestamp
        self.wallTime = wallTime
        self.rate = rate
    }

    /// Returns the wall-clock time of a timestamp, which must be less than 2^31 ticks away.
    public func wallTime(of timestamp: UInt32) -> WallTime {
        let ticks = Int64(Int32(bitPattern: timestamp &- self.timestamp))
        return wallTime + rate.span(ofTicks: ticks)
    }
}
