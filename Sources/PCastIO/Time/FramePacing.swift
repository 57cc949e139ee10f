import Glibc
package import PCastCore

/// The pacing of sources that generate frames on their own thread, without drift.
package enum FramePacing {
    /// Blocks until `instant`. Returns at once if it has passed.
    package static func sleep(until instant: Instant) {
        var time = timespec(instant)
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }
}
