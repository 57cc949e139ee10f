import PCastMedia

/// One track's delays: how long its frames take from capture until they are ready, and how long they are held.
///
/// Capture times stand on the sender's clock and readiness on ours, so a delay here has an unknown constant in it. It
/// is the same for both tracks of a sender, and falls out wherever delays are compared.
struct PlayoutTrack {
    /// A frame that is this much later than the others came after a stall, and does not count as jitter (JB2).
    static let stall = TimeSpan.milliseconds(150)

    /// A stall is over when frames are no later than this.
    private static let recovery = TimeSpan.milliseconds(20)

    /// At the beginning a viewer is sent what has been since the last key frame, older at first than it will be later.
    private static let settling = TimeSpan.seconds(1)

    /// A delay that has been longer for this long is the path's new one.
    private static let persistence = TimeSpan.seconds(1)

    /// Windows whose largest delays are remembered, and how long one is: what the path needed in the last four seconds.
    private static let windowCount = 4
    private static let windowLength = TimeSpan.seconds(1)

    /// The largest delay of each window, the newest last.
    private var windows: [TimeSpan] = []
    private var windowStart: Instant?
    private var lateSince: Instant?
    private var firstInstant: Instant?
    private var lastInstant: Instant?

    /// What stands between a frame's time in the track and its capture time, once that is known.
    private var captureOffset: TimeSpan?

    /// How long frames are held from capture to presentation; nil before the first.
    private(set) var applied: TimeSpan?

    /// Whether capture times are known, so that the track can be compared with another.
    private(set) var isAligned = false

    /// What the track needs by itself: the largest delay that the path has lately had.
    var needed: TimeSpan? { windows.max() }

    /// When a frame was captured, as a span since an origin that the whole track shares.
    mutating func position(captureTime: WallTime?, timestamp: MediaTime) -> TimeSpan {
        if let captureTime {
            let position = TimeSpan.nanoseconds(captureTime.nanosecondsSinceEpoch)
            let offset = position - timestamp.span
            if captureOffset == nil || !isAligned { realign(by: offset) }
            captureOffset = offset
            isAligned = true
            return position
        }
        return timestamp.span + (captureOffset ?? .zero)
    }

    /// From the track's own times to capture times: every delay shrinks by what the positions grow.
    private mutating func realign(by offset: TimeSpan) {
        for index in windows.indices { windows[index] -= offset }
        if let held = applied { applied = held - offset }
    }

    /// Takes in that a frame became ready this long after its capture. Answers how late it is after a stall, nil when
    /// it is to be presented after `applied`.
    mutating func ready(after delay: TimeSpan, target: TimeSpan?, at now: Instant) -> TimeSpan? {
        if isStalled(delay, at: now) { return delay - (applied ?? delay) }
        settle(delay, at: now)
        note(delay, at: now)
        hold(delay, target: target, at: now)
        return nil
    }

    /// Whether the frame came after a stall that is not over yet. A delay that stays is the path's new one.
    private mutating func isStalled(_ delay: TimeSpan, at now: Instant) -> Bool {
        guard let held = applied else { return false }
        let lateness = delay - max(held, needed ?? held)
        guard lateness > (lateSince == nil ? Self.stall : Self.recovery) else {
            lateSince = nil
            return false
        }
        let since = lateSince ?? now
        lateSince = since
        if now - since < Self.persistence { return true }
        lateSince = nil
        windows.removeAll()
        applied = delay
        return false
    }

    /// At the beginning the newest frame says what the path needs, so that the delay of a catch-up does not stay.
    private mutating func settle(_ delay: TimeSpan, at now: Instant) {
        let first = firstInstant ?? now
        firstInstant = first
        guard now - first < Self.settling, let held = applied, delay < held - Self.recovery else { return }
        windows.removeAll()
        applied = delay
    }

    private mutating func note(_ delay: TimeSpan, at now: Instant) {
        if windows.isEmpty || windowStart.map({ now - $0 >= Self.windowLength }) ?? true {
            windowStart = now
            windows.append(delay)
            if windows.count > Self.windowCount { windows.removeFirst() }
        } else {
            windows[windows.count - 1] = max(windows[windows.count - 1], delay)
        }
    }

    /// Moves what is applied toward the target: at once when the frame is already later, else by a few per cent of the
    /// time that has passed, which neither eye nor ear notices (JB3).
    private mutating func hold(_ delay: TimeSpan, target: TimeSpan?, at now: Instant) {
        let passed = lastInstant.map { max(now - $0, .zero) } ?? .zero
        lastInstant = max(now, lastInstant ?? now)
        guard let held = applied else {
            applied = delay
            return
        }
        let goal = max(target ?? delay, needed ?? delay)
        let slewed = goal > held ? min(goal, held + passed / 20) : max(goal, held - passed / 25)
        applied = max(slewed, delay)
    }
}
