public import PCastMedia

/// What stands between our monotonic clock and the wall clock of a sender, by when its reports were written and arrived.
///
/// The network only adds to the difference, so the least of the last half minute is the truest; half a round trip of it is
/// the way here, as far as that takes as long as the way there.
public struct SenderClock: Sendable {
    private static let windowLength = TimeSpan.seconds(Int64(10))
    private static let windowCount = 3

    /// The least difference of each window, in nanoseconds, the newest last.
    private var windows: [Int64] = []
    private var windowStart: Instant?

    public init() {}

    /// Takes in a sender report.
    public mutating func received(_ report: SenderInformation, at now: Instant) {
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

    /// Our clock less the sender's, each counted from its own origin; nil before any report.
    ///
    /// - Parameter roundTrip: to the sender, the least that was measured.
    public func offset(roundTrip: TimeSpan) -> TimeSpan? {
        windows.min().map { TimeSpan.nanoseconds($0) - roundTrip / 2 }
    }

    /// The sender became another: nothing of before holds.
    public mutating func restart() {
        windows.removeAll()
        windowStart = nil
    }
}
