import PCastCore

/// Limits drawing to the refresh rate on a display without vertical synchronization. It reads no clock; the caller
/// passes the time.
///
/// A frame may be up to half an interval early, which the next frame compensates. Thus all frames of a stream with
/// jitter at the display's own rate are shown.
struct DisplayRateLimiter {
    /// The time between refreshes.
    let interval: TimeSpan

    /// The time at which the next frame is due.
    private var next: Instant?

    /// Creates a pace from a refresh rate per second. 0, which virtual displays report, counts as 60.
    init(refreshRate: Int) {
        interval = .seconds(1) / Int64(refreshRate > 0 ? refreshRate : 60)
    }

    /// Returns the earliest time for a frame.
    func earliest(at now: Instant) -> Instant {
        guard let next else { return now }
        return max(now, next - interval / 2)
    }

    mutating func drawn(at now: Instant) {
        next = max(now, next ?? now) + interval
    }
}
