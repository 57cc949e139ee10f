import PCastMedia

/// When pictures were captured, by what the driver says as long as it can be true.
///
/// The driver's time is that of CLOCK_MONOTONIC at the start of exposure or at the end of the frame; how long a frame
/// takes from the one to the other nobody tells, so both are taken as they are.
struct CaptureClock {
    /// A time that is farther away from the moment is no camera's, but a clock that is wrong.
    private static let farthest = TimeSpan.seconds(1)

    private var lastStamp: Instant?
    private var last: Instant?

    /// - Parameters:
    ///   - stamp: what the driver says; nil when it has no such clock.
    ///   - taken: when the picture was taken from the driver.
    ///   - idle: for how long nobody had asked the driver: pictures may have waited as long.
    /// - Returns: when it was captured, later than the one before, and whether the driver's time was not believed.
    mutating func time(stamp: Instant?, taken: Instant, idle: TimeSpan) -> (time: Instant, isRetimed: Bool) {
        let isPossible = stamp.map { stamp in
            stamp - taken <= Self.farthest && taken - stamp <= Self.farthest + idle
                && lastStamp.map { stamp > $0 } ?? true
        }
        if isPossible == true { lastStamp = stamp }
        // Some say when a frame will end that they give away before; no picture is of the future.
        var time = isPossible == true ? min(stamp!, taken) : taken
        if let last, time <= last { time = last + .microseconds(1) }
        last = time
        return (time, isPossible == false)
    }
}
