package import PCastCore

/// Counts freezes as defined in W3C webrtc-stats (`freezeCount`): an interval between frames of at least three times
/// the mean, and at least 150 ms above it. The mean covers the last 30 intervals.
package struct FreezeMeter: Sendable {
    private static let window = 30

    private var intervals: [TimeSpan] = []
    private var next = 0
    private var sum = TimeSpan.zero
    private var lastShown: Instant?

    /// The number of freezes.
    package private(set) var freezeCount = 0
    /// The total duration of the freezes.
    package private(set) var freezeDuration = TimeSpan.zero

    /// Creates a meter with zeros.
    package init() { intervals.reserveCapacity(Self.window) }

    /// Records that a frame was presented.
    package mutating func shown(at now: Instant) {
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
