import PCastMedia

/// When pictures were captured, by what the driver says as long as it can be true.
///
/// The driver's time is that of CLOCK_MONOTONIC at the start of exposure or at the end of the frame; how long a frame
/// takes from the one to the other nobody tells, so both are taken as they are.
struct CaptureClock {
    /// Older is no camera's picture, but a clock that is wrong.
    private static let oldest = TimeSpan.seconds(1)

    private var last: Instant?

    /// - Parameters:
    ///   - stamp: what the driver says; nil when it has no such clock.
    ///   - taken: when the picture was taken from the driver.
    ///   - idle: since when nobody has asked the driver: pictures may have waited as long.
    /// - Returns: when it was captured, later than the one before.
    mutating func time(stamp: Instant?, taken: Instant, idle: TimeSpan) -> (time: Instant, isRetimed: Bool) {
        let isPossible = stamp.map { stamp in
            stamp <= taken && taken - stamp <= Self.oldest + idle && last.map { stamp > $0 } ?? true
        }
        var time = isPossible == true ? stamp! : taken
        if let last, time <= last { time = last + .microseconds(1) }
        last = time
        return (time, isPossible == false)
    }
}
