public import PCastCore

/// Counts freezes of video as defined by W3C webrtc-stats (`freezeCount`). A freeze is an interval of at least three
/// times the mean that is also at least 150 ms longer. The mean is that of the last 30 intervals.
public struct FreezeDetector: Sendable {
    /// The number of intervals in the mean.
    private static let window = 30

    private var intervals: [Int64] = []
    private var sum: Int64 = 0
    private var oldest = 0
    private var lastShown: Instant?

    /// The number of freezes.
    public private(set) var freezeCount = 0
    /// The total duration of all freezes.
    public private(set) var totalFreezesDuration = TimeSpan.zero

    /// Creates a detector without frames.
    public init() { intervals.reserveCapacity(Self.window) }

    /// Records that a frame is shown. Returns the duration of the freeze that it ends; nil if there was none.
    public mutating func frameShown(at now: Instant) -> TimeSpan? {
        defer { lastShown = now }
        guard let lastShown else { return nil }
        let interval = now - lastShown
        let isFreeze = intervals.isEmpty ? false : interval >= threshold
        append(interval)
        guard isFreeze else { return nil }
        freezeCount += 1
        totalFreezesDuration += interval
        return interval
    }

    /// The interval from which on there is a freeze.
    private var threshold: TimeSpan {
        let mean = TimeSpan(nanoseconds: sum / Int64(intervals.count))
        return max(mean * 3, mean + .milliseconds(150))
    }

    /// Adds an interval to the mean.
    private mutating func append(_ interval: TimeSpan) {
        sum += interval.nanoseconds
        if intervals.count < Self.window {
            intervals.append(interval.nanoseconds)
            return
        }
        sum -= intervals[oldest]
        intervals[oldest] = interval.nanoseconds
        oldest = (oldest + 1) % Self.window
    }
}
