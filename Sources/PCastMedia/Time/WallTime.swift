/// A moment in Coordinated Universal Time.
public struct WallTime: Hashable, Sendable {
    /// Nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted (POSIX time).
    public var nanosecondsSinceEpoch: Int64

    public init(nanosecondsSinceEpoch: Int64) { self.nanosecondsSinceEpoch = nanosecondsSinceEpoch }

    public init(millisecondsSinceEpoch: Int64) { nanosecondsSinceEpoch = millisecondsSinceEpoch * 1_000_000 }

    public var millisecondsSinceEpoch: Int64 { nanosecondsSinceEpoch / 1_000_000 }

    /// Seconds between the NTP era (1900) and the Unix epoch (RFC 868).
    private static let ntpOffset: Int64 = 2_208_988_800

    /// The 64-bit NTP timestamp of RTCP sender reports: seconds since 1900 in the upper half, their fraction in the
    /// lower (RFC 3550, section 4).
    public var ntpTimestamp: UInt64 {
        // A peer may say any time, also one before 1970: the fraction counts up from the second before.
        var (seconds, nanoseconds) = nanosecondsSinceEpoch.quotientAndRemainder(dividingBy: 1_000_000_000)
        if nanoseconds < 0 {
            seconds -= 1
            nanoseconds += 1_000_000_000
        }
        let fraction = (UInt64(nanoseconds) << 32) / 1_000_000_000
        return UInt64(truncatingIfNeeded: seconds + Self.ntpOffset) << 32 | fraction
    }

    public init(ntpTimestamp: UInt64) {
        let seconds = Int64(ntpTimestamp >> 32) - Self.ntpOffset
        let nanoseconds = Int64(((ntpTimestamp & 0xFFFF_FFFF) * 1_000_000_000 + (1 << 31)) >> 32)
        nanosecondsSinceEpoch = seconds * 1_000_000_000 + nanoseconds
    }

    public static func + (time: WallTime, span: TimeSpan) -> WallTime {
        WallTime(nanosecondsSinceEpoch: time.nanosecondsSinceEpoch + span.nanoseconds)
    }

    public static func - (time: WallTime, span: TimeSpan) -> WallTime {
        WallTime(nanosecondsSinceEpoch: time.nanosecondsSinceEpoch - span.nanoseconds)
    }

    public static func - (later: WallTime, earlier: WallTime) -> TimeSpan {
        TimeSpan(nanoseconds: later.nanosecondsSinceEpoch - earlier.nanosecondsSinceEpoch)
    }
}

extension WallTime: Comparable {
    public static func < (left: WallTime, right: WallTime) -> Bool {
        left.nanosecondsSinceEpoch < right.nanosecondsSinceEpoch
    }
}
