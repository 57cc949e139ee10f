package import PCastCore

/// The round-trip time to a peer according to its reports (RFC 3550, section 6.4.1; RFC 3611, section 4.5).
package struct RoundTripTime: Sendable {
    /// The last measurement; nil before the first.
    package private(set) var latest: TimeSpan?

    /// The measurements smoothed with a weight of 1/8 (RFC 6298); nil before the first.
    package private(set) var smoothed: TimeSpan?

    /// The minimum of all measurements; nil before the first.
    package private(set) var minimum: TimeSpan?

    /// The number of invalid measurements: more negative than rounding explains, or longer than 30 s.
    package private(set) var rejected = 0

    /// The most negative measurement that rounding by the peer explains; it counts as 0.
    private static let tolerance = TimeSpan.milliseconds(-10)
    /// The maximum measurement.
    private static let maximum = TimeSpan.milliseconds(30_000)

    /// Creates a state without measurements.
    package init() {}

    /// Evaluates a report block about one of the local streams. Returns the measurement; nil if there is none.
    package mutating func update(from block: ReportBlock, at now: WallTime) -> TimeSpan? {
        update(lastReport: block.lastSenderReport, delay: block.delaySinceLastSenderReport, at: now)
    }

    /// Evaluates an entry of a DLRR block about the local receiver reference time. Returns the measurement; nil if
    /// there is none.
    package mutating func update(from delay: ExtendedReport.DelaySinceReport, at now: WallTime) -> TimeSpan? {
        update(lastReport: delay.lastReport, delay: delay.delay, at: now)
    }

    /// Calculates the round-trip time. `now` is from the clock of the local reports, and a last report of 0 means that
    /// the peer has received none.
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

/// A time or delay in units of 1/65536 s: the middle 32 bits of an NTP timestamp (RFC 3550, section 4).
package struct CompactTime: Hashable, Sendable {
    /// The value in units of 1/65536 s.
    package var rawValue: UInt32

    /// Creates a time from its value.
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Creates a time from the wall-clock time, modulo 18.2 hours.
    package init(_ time: WallTime) { rawValue = UInt32(truncatingIfNeeded: time.ntpTimestamp >> 16) }

    /// Creates a delay, rounded down and limited to the range of 32 bits.
    package init(_ span: TimeSpan) {
        let (seconds, rest) = max(span, .zero).nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        rawValue = UInt32(clamping: seconds << 16 | (rest << 16) / 1_000_000_000)
    }
}
