import Glibc
public import PCastCore

/// The pacing of sources that generate frames on their own thread, without drift.
public enum FramePacing {
    /// Blocks until `instant`. Returns at once if it has passed.
    public static func sleep(until instant: Instant) {
        var time = timespec(instant)
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }
}
