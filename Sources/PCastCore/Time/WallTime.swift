/// A time in Coordinated Universal Time (UTC).
public struct WallTime: Hashable, Sendable {
    /// The nanoseconds since 1970-01-01T00:00:00Z without leap seconds (POSIX time).
    public var nanosecondsSinceEpoch: Int64

    /// Creates a time from nanoseconds since 1970.
    public init(nanosecondsSinceEpoch: Int64) { self.nanosecondsSinceEpoch = nanosecondsSinceEpoch }

    /// Creates a time from milliseconds since 1970.
    public init(millisecondsSinceEpoch: Int64) { nanosecondsSinceEpoch = millisecondsSinceEpoch * 1_000_000 }

    /// The milliseconds since 1970, rounded towards zero.
    public var millisecondsSinceEpoch: Int64 { nanosecondsSinceEpoch / 1_000_000 }

    /// The seconds from the NTP era (1900) to the Unix epoch (RFC 868).
    private static let ntpOffset: Int64 = 2_208_988_800

    /// The 64-bit NTP timestamp of RTCP sender reports: the upper half has the seconds since 1900, the lower half their
    /// fraction (RFC 3550, section 4).
    public var ntpTimestamp: UInt64 {
        // A peer may report a time before 1970. The fraction then counts from the previous second.
        var (seconds, nanoseconds) = nanosecondsSinceEpoch.quotientAndRemainder(dividingBy: 1_000_000_000)
        if nanoseconds < 0 {
            seconds -= 1
            nanoseconds += 1_000_000_000
        }
        let fraction = (UInt64(nanoseconds) << 32) / 1_000_000_000
        return UInt64(truncatingIfNeeded: seconds + Self.ntpOffset) << 32 | fraction
    }

    /// Creates a time from an NTP timestamp of the era that began in 1900, rounded to a nanosecond.
    public init(ntpTimestamp: UInt64) {
        let seconds = Int64(ntpTimestamp >> 32) - Self.ntpOffset
        let nanoseconds = Int64(((ntpTimestamp & 0xFFFF_FFFF) * 1_000_000_000 + (1 << 31)) >> 32)
        nanosecondsSinceEpoch = seconds * 1_000_000_000 + nanoseconds
    }

    /// Returns the time that is later by a duration.
    public static func + (time: WallTime, span: TimeSpan) -> WallTime {
        WallTime(nanosecondsSinceEpoch: time.nanosecondsSinceEpoch + span.nanoseconds)
    }

    /// Returns the time that is earlier by a duration.
    public static func - (time: WallTime, span: TimeSpan) -> WallTime {
        WallTime(nanosecondsSinceEpoch: time.nanosecondsSinceEpoch - span.nanoseconds)
    }

    /// Returns the duration between two times; negative if `later` is before `earlier`.
    public static func - (later: WallTime, earlier: WallTime) -> TimeSpan {
        TimeSpan(nanoseconds: later.nanosecondsSinceEpoch - earlier.nanosecondsSinceEpoch)
    }

    /// Returns the time that is later by a duration.
    public func advanced(by duration: Duration) -> WallTime { self + TimeSpan(duration) }

    /// Returns the duration until another time; negative if that is earlier.
    public func duration(to other: WallTime) -> Duration { (other - self).duration }

    /// Returns the duration from an earlier time to this one; negative if that time is later. Returns nil if it exceeds
    /// 64 bits of nanoseconds, which is possible for times that a peer chooses.
    package func span(since earlier: WallTime) -> TimeSpan? {
        let (span, overflows) = nanosecondsSinceEpoch.subtractingReportingOverflow(earlier.nanosecondsSinceEpoch)
        return overflows ? nil : TimeSpan(nanoseconds: span)
    }
}

extension WallTime: Comparable {
    /// Returns whether the left time is earlier.
    public static func < (left: WallTime, right: WallTime) -> Bool {
        left.nanosecondsSinceEpoch < right.nanosecondsSinceEpoch
    }
}

/// The same moment on the monotonic and the wall clock. With it, a machine computes UTC times for sender reports.
public struct WallClockReference: Hashable, Sendable {
    /// The moment on the monotonic clock.
    public var instant: Instant
    /// The moment on the wall clock.
    public var wallTime: WallTime

    /// Creates a reference from the readings of both clocks.
    public init(instant: Instant, wallTime: WallTime) {
        self.instant = instant
        self.wallTime = wallTime
    }

    /// Returns the wall-clock time of an instant.
    public func wallTime(at instant: Instant) -> WallTime { wallTime + (instant - self.instant) }

    /// Returns the instant of a wall-clock time.
    public func instant(at wallTime: WallTime) -> Instant { instant + (wallTime - self.wallTime) }
}
