/// Unwraps the timestamps of messages, which wrap after 49.7 days.
struct RTMPTimeline: Sendable {
    /// The maximum distance of a time from zero in milliseconds, about 34 years. Only a client whose clock jumps reaches
    /// it.
    private static let maximum: Int64 = 1 << 40

    private var last: Int64?

    /// Returns the time of a message in milliseconds, with the fewest steps from the previous one. A time beyond the
    /// maximum restarts at the timestamp.
    mutating func unwrap(_ timestamp: UInt32) -> Int64 {
        var time = Int64(timestamp)
        if let last {
            let step = Int32(bitPattern: timestamp &- UInt32(truncatingIfNeeded: last))
            let next = last + Int64(step)
            if abs(next) <= Self.maximum { time = next }
        }
        last = time
        return time
    }
}
