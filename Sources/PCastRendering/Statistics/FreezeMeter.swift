public import PCastMedia

/// Counts freezes of what is shown, as WebRTC's statistics define them: a gap of at least three mean intervals and at
/// least 150 ms more than one, the mean being of the last 30 (JB7; W3C webrtc-stats, `freezeCount`).
public struct FreezeMeter: Sendable {
    private static let window = 30

    private var intervals: [TimeSpan] = []
    private var next = 0
    private var sum = TimeSpan.zero
    private var lastShown: Instant?

    public private(set) var freezeCount = 0
    public private(set) var freezeDuration = TimeSpan.zero

    public init() { intervals.reserveCapacity(Self.window) }

    /// Takes in that a picture was shown.
    public mutating func shown(at now: Instant) {
        defer { lastShown = now }
        guard let lastShown else { return }
        let interval = now - lastShown
        if !intervals.isEmpty {
            let mean = sum / Int64(intervals.count)
            if interval >= max(mean * 3, mean + .milliseconds(150)) {
                freezeCount += 1
                freezeDuration += interval
            }
        }
        remember(interval)
    }

    private mutating func remember(_ interval: TimeSpan) {
        sum += interval
        if intervals.count < Self.window {
            intervals.append(interval)
            return
        }
        sum -= intervals[next]
        intervals[next] = interval
        next = (next + 1) % Self.window
    }
}
