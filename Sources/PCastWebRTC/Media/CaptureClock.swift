public import PCastMedia

/// When a track's timestamps were captured: one timestamp and its wall time, from which the others follow.
public struct CaptureClock: Hashable, Sendable {
    public var timestamp: UInt32
    public var wallTime: WallTime
    public var rate: ClockRate

    public init(timestamp: UInt32, wallTime: WallTime, rate: ClockRate) {
        self.timestamp = timestamp
        self.wallTime = wallTime
        self.rate = rate
    }

    /// Of a timestamp less than half a round of the 32-bit clock away.
    public func wallTime(of timestamp: UInt32) -> WallTime {
        let ticks = Int64(Int32(bitPattern: timestamp &- self.timestamp))
        return wallTime + rate.span(ofTicks: ticks)
    }
}
