package import PCastCore

/// The difference between the local monotonic clock and the wall clock of a sender, according to its sender reports.
///
/// The network only increases the difference, so the minimum of the last half minute is the best value. Half of the
/// round-trip time is subtracted as the delay of the report.
package struct SenderClock: Sendable {
    /// The duration of a window.
    private static let windowLength = TimeSpan.seconds(Int64(10))
    /// The number of windows.
    private static let windowCount = 3

    /// The minimum difference in each window in nanoseconds, with the newest one last.
    private var windows: [Int64] = []
    /// The beginning of the newest window.
    private var windowStart: Instant?

    /// Creates a clock without reports.
    package init() {}

    /// Evaluates a sender report that arrived at a time.
    package mutating func received(_ report: SenderInformation, at now: Instant) {
        let written = WallTime(ntpTimestamp: report.ntpTimestamp)
        let difference = now.nanoseconds - written.nanosecondsSinceEpoch
        guard let windowStart, now - windowStart < Self.windowLength, let newest = windows.last else {
            self.windowStart = now
            windows.append(difference)
            if windows.count > Self.windowCount { windows.removeFirst() }
            return
        }
        windows[windows.count - 1] = min(newest, difference)
    }

    /// Returns the local clock minus the sender's clock, each since its own origin; nil before the first report.
    ///
    /// - Parameter roundTrip: The minimum round-trip time to the sender.
    /// - Returns: The difference.
    package func offset(roundTrip: TimeSpan) -> TimeSpan? {
        windows.min().map { TimeSpan.nanoseconds($0) - roundTrip / 2 }
    }

    /// Discards all reports, because the sender was replaced.
    package mutating func restart() {
        windows.removeAll()
        windowStart = nil
    }
}
