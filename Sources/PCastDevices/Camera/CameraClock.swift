import PCastCore

/// Computes capture times from the driver's timestamps if they are plausible.
///
/// A driver's timestamp is CLOCK_MONOTONIC at the start of exposure or at the end of the frame. The time between both
/// is unknown, so they are used as they are.
struct CameraClock {
    /// The largest plausible distance of a timestamp from the current time.
    private static let farthest = TimeSpan.seconds(1)

    private var lastStamp: Instant?
    private var last: Instant?

    /// Computes the capture time of a frame.
    ///
    /// - Parameters:
    ///   - stamp: The driver's timestamp; nil if it uses another clock.
    ///   - taken: The time at which the frame was dequeued.
    ///   - idle: The time since the previous dequeue, for which the frame may have been queued.
    /// - Returns: The capture time, which is later than the previous one, and whether an implausible timestamp was
    ///   replaced.
    mutating func time(stamp: Instant?, capturedAt: Instant, idle: TimeSpan) -> (time: Instant, isRetimed: Bool) {
        let isPossible = stamp.map { stamp in
            stamp - capturedAt <= Self.farthest && capturedAt - stamp <= Self.farthest + idle
                && lastStamp.map { stamp > $0 } ?? true
        }
        if isPossible == true { lastStamp = stamp }
        // Some drivers deliver a frame before the end that its timestamp states.
        var time = isPossible == true ? min(stamp!, capturedAt) : capturedAt
        if let last, time <= last { time = last + .microseconds(1) }
        last = time
        return (time, isPossible == false)
    }
}
