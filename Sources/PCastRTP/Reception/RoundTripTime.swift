public import PCastMedia

/// The time to a peer and back, measured by the reports it sends (RFC 3550 section 6.4.1, RFC 3611 section 4.5).
public struct RoundTripTime: Sendable {
    /// The last measurement; nil before any.
    public private(set) var latest: TimeSpan?

    /// Smoothed by an eighth of each measurement, as RFC 6298 does; nil before any.
    public private(set) var smoothed: TimeSpan?

    /// The least measurement; nil before any.
    public private(set) var minimum: TimeSpan?

    /// Measurements that could not be: negative beyond rounding, or longer than any path (RTCP5).
    public private(set) var rejected = 0

    /// A peer's rounding may make a short path negative by this much; it counts as none.
    private static let tolerance = TimeSpan.milliseconds(-10)
    private static let maximum = TimeSpan.milliseconds(30_000)

    public init() {}

    /// Measures by a report block about one of our streams; answers the measurement if there was one.
    public mutating func update(from block: ReportBlock, at now: WallTime) -> TimeSpan? {
        update(lastReport: block.lastSenderReport, delay: block.delaySinceLastSenderReport, at: now)
    }

    /// Measures by an entry of a DLRR block that answers our receiver reference time.
    public mutating func update(from delay: ExtendedReport.DelaySinceReport, at now: WallTime) -> TimeSpan? {
        update(lastReport: delay.lastReport, delay: delay.delay, at: now)
    }

    /// `now` is by the clock that the reports were stamped with. A last report of 0 means that the peer has had none.
    private mutating func update(lastReport: UInt32, delay: UInt32, at now: WallTime) -> TimeSpan? {
        guard lastReport != 0 else { return nil }
        let units = Int32(bitPattern: CompactTime(now).rawValue &- lastReport &- delay)
        let measured = TimeSpan.nanoseconds((Int64(units) * 1_000_000_000) >> 16)
        guard measured >= Self.tolerance, measured <= Self.maximum else {
            rejected += 1
            return nil
        }
        let sample = max(measured, .zero)
        latest = sample
        smoothed = smoothed.map { $0 + (sample - $0) / 8 } ?? sample
        minimum = minimum.map { min($0, sample) } ?? sample
        return sample
    }
}
