import Glibc
public import PCastMedia

/// The clock that every driver of a machine reads: CLOCK_MONOTONIC, which no one sets.
public enum MonotonicClock {
    public static func now() -> Instant {
        Instant(nanoseconds: nanoseconds(CLOCK_MONOTONIC))
    }

    /// The time of day, UTC.
    public static func wallTime() -> WallTime { WallTime(nanosecondsSinceEpoch: nanoseconds(CLOCK_REALTIME)) }

    /// Both clocks at one moment. UTC is read between two readings of the monotonic clock, so that the pair is off by
    /// no more than half of what the three calls take.
    public static func reference() -> WallClockReference {
        let before = nanoseconds(CLOCK_MONOTONIC)
        let wall = nanoseconds(CLOCK_REALTIME)
        let after = nanoseconds(CLOCK_MONOTONIC)
        return WallClockReference(
            instant: Instant(nanoseconds: before + (after - before) / 2),
            wallTime: WallTime(nanosecondsSinceEpoch: wall))
    }

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

extension timespec {
    init(_ instant: Instant) {
        let clamped = max(0, instant.nanoseconds)
        self.init(tv_sec: Int(clamped / 1_000_000_000), tv_nsec: Int(clamped % 1_000_000_000))
    }
}
