import Glibc
public import PCastCore

/// The clock that all drivers of machines read: CLOCK_MONOTONIC, which cannot be set.
public enum MonotonicClock {
    /// Returns the current instant.
    public static func now() -> Instant {
        Instant(nanoseconds: nanoseconds(CLOCK_MONOTONIC))
    }

    /// Returns the current time in UTC.
    public static func wallTime() -> WallTime { WallTime(nanosecondsSinceEpoch: nanoseconds(CLOCK_REALTIME)) }

    /// Returns the current readings of both clocks. UTC is read between two readings of the monotonic clock, so that
    /// the error is at most half of the duration of the three calls.
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

/// A sleep that another thread can cancel permanently, so that a paced source stops at once.
package final class CancellableSleep: Sendable {
    private let cancelled = Monitor(false)

    /// Creates a sleep that is not cancelled.
    package init() {}

    /// Blocks until `instant`. Returns false if `cancel` was called before or meanwhile.
    package func sleep(until instant: Instant) -> Bool {
        cancelled.wait(until: instant) { isCancelled in isCancelled ? true : nil } == nil
    }

    /// Ends the current sleep and all later ones.
    package func cancel() {
        cancelled.withLock { isCancelled, condition in
            isCancelled = true
            condition.wakeAll()
        }
    }
}
