public import PCastMedia

/// Counts freezes of shown video as WebRTC's statistics define them: a gap of at least three mean intervals, and at
/// least 150 ms more than the mean, which is of the last 30 intervals (JB7).
public struct FreezeDetector: Sendable {
    private static let window = 30

    private var intervals: [Int64] = []
    private var sum: Int64 = 0
    private var oldest = 0
    private var lastShown: Instant?

    public private(set) var freezeCount = 0
    public private(set) var totalFreezesDuration = TimeSpan.zero

    public init() { intervals.reserveCapacity(Self.window) }

    /// Takes in that a frame was shown. Answers how long the picture had been frozen, nil if it had not.
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

    private var threshold: TimeSpan {
        let mean = TimeSpan(nanoseconds: sum / Int64(intervals.count))
        return max(mean * 3, mean + .milliseconds(150))
    }

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
