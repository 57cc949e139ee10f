import Glibc
public import PCastMedia

/// Blocks a thread of its own until a moment, without drift: the pace of sources that make their own frames.
public enum Pacer {
    /// Returns at `instant` or a little later; at once when it has passed.
    public static func sleep(until instant: Instant) {
        var time = timespec(instant)
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }
}
