import PCastMedia

/// One track's delays: how long its frames take from capture until they are ready, and how long they are held.
///
/// Capture times stand on the sender's clock and readiness on ours, so a delay here has an unknown constant in it. It
/// is the same for both tracks of a sender, and falls out wherever delays are compared.
struct PlayoutTrack {
    /// What differs between the eye and the ear.
    struct Nature: Sendable {
        /// The part of frames that is to be in time.
        var punctuality: Double
        /// Frames that are this much later than what is held came after a stall (JB2).
        var stall: TimeSpan
        /// By how much frames may be late after what holds them up again and again: a picture so late is not missed as one.
        var tolerance: TimeSpan
        /// What holds them up for longer is not covered, however often it comes.
        var longestStall: TimeSpan
        /// Whether a frame that is a little late moves all that follow: sound cannot be shown late and then be in time
        /// again, for that would cut it.
        var movesAtOnce: Bool

        /// One picture in twenty may be some milliseconds late and is not missed.
        static let pictures = Nature(
            punctuality: 0.94, stall: .milliseconds(150), tolerance: .milliseconds(130),
            longestStall: .milliseconds(450), movesAtOnce: false)
        static let sound = Nature(
            punctuality: 0.99, stall: .milliseconds(120), tolerance: .zero,
            longestStall: .milliseconds(280), movesAtOnce: true)
    }

    /// A stall is over when frames are no later than this.
    private static let recovery = TimeSpan.milliseconds(20)

    /// The part of frames whose delays are not a stall's, even if there is one each few seconds.
    private static let usualPart = 0.9

    /// Lateness beyond what repair has lately needed is a stall's.
    private static let stallBeyondNeed = TimeSpan.milliseconds(50)

    /// Frames later than that say nothing about jitter.
    private static let longestJitter = TimeSpan.milliseconds(500)

    /// At the beginning a viewer is sent what has been since the last key frame, older at first than it will be later.
    private static let settling = TimeSpan.seconds(1)

    /// What the path needs is not known at first, and come to twice as fast.
    private static let learning = TimeSpan.seconds(8)

    /// A delay that has been longer for this long is the path's new one.
    private static let persistence = TimeSpan.milliseconds(400)

    /// A longer pause between frames moves what is held no further.
    private static let longestStep = TimeSpan.milliseconds(200)

    private let nature: Nature
    private var window = DelayWindow()
    private var stalls: StallMemory
    private var lateSince: Instant?
    private var firstInstant: Instant?
    private var lastInstant: Instant?

    /// What stands between a frame's time in the track and its capture time, once that is known.
    private var captureOffset: TimeSpan?

    /// How long frames are held from capture to presentation; nil before the first.
    private(set) var applied: TimeSpan?

    /// Whether capture times are known, so that the track can be compared with another.
    private(set) var isAligned = false

    /// What the track needs by itself, so that its frames are in time as often as they should be.
    private(set) var needed: TimeSpan?

    init(_ nature: Nature) {
        self.nature = nature
        stalls = StallMemory(longest: nature.longestStall)
    }

    /// The delay of the quickest frame lately: what the path and the decoder take at least.
    var least: TimeSpan? { window.minimum }

    /// Whether a frame has come in the last second.
    func isAlive(at now: Instant) -> Bool { lastInstant.map { now - $0 < .seconds(1) } ?? false }

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
        window.subtract(offset)
        if let held = applied { applied = held - offset }
        if let need = needed { needed = need - offset }
    }

    /// Takes in that a frame became ready this long after its capture. Answers how late it is after a stall, nil when
    /// it is to be presented after `applied`, or at once when that has passed.
    ///
    /// - Parameter goal: what to move to, given what the track needs.
    mutating func ready(
        after delay: TimeSpan, at now: Instant, goal: (_ needed: TimeSpan) -> PlayoutGoal
    ) -> TimeSpan? {
        settle(delay, at: now)
        let lateness = note(delay, at: now)
        defer { lastInstant = max(now, lastInstant ?? now) }
        if isStalled(delay, at: now) { return lateness }
        move(to: goal(needed ?? delay), delay, at: now)
        return nil
    }

    /// At the beginning the newest frame says what the path needs, so that the delay of a catch-up does not stay.
    private mutating func settle(_ delay: TimeSpan, at now: Instant) {
        let first = firstInstant ?? now
        firstInstant = first
        guard now - first < Self.settling, let held = applied, delay < held - Self.recovery else { return }
        forget()
        applied = delay
    }

    private mutating func forget() {
        window.removeAll()
        stalls.removeAll()
        needed = nil
    }

    /// Answers how late the frame is.
    private mutating func note(_ delay: TimeSpan, at now: Instant) -> TimeSpan {
        let usual = window.quantile(Self.usualPart) ?? delay
        if delay - max(usual, applied ?? delay) <= Self.longestJitter { window.add(delay, at: now) }
        let least = window.minimum ?? delay
        // Also what is covered by now, so that it stays covered as long as it recurs.
        stalls.frame(height: delay - least, isLate: delay - usual > Self.stallBeyondNeed, at: now)
        needed = max(
            window.quantile(nature.punctuality) ?? delay, least + stalls.height(at: now) - nature.tolerance)
        return delay - (applied ?? delay)
    }

    /// Whether the frame came after a stall that is not over yet. A delay that stays is the path's new one.
    private mutating func isStalled(_ delay: TimeSpan, at now: Instant) -> Bool {
        guard let held = applied else { return false }
        let lateness = delay - held
        guard lateness > (lateSince == nil ? nature.stall : Self.recovery) else {
            lateSince = nil
            return false
        }
        let since = lateSince ?? now
        lateSince = since
        if now - since < Self.persistence { return true }
        lateSince = nil
        forget()
        window.add(delay, at: now)
        needed = delay
        applied = delay
        return false
    }

    /// Moves what is held toward the goal by a part of the time that has passed, which neither eye nor ear notices (JB3).
    private mutating func move(to goal: PlayoutGoal, _ delay: TimeSpan, at now: Instant) {
        let passed = min(lastInstant.map { max(now - $0, .zero) } ?? .zero, Self.longestStep)
        guard let held = applied else {
            applied = delay
            return
        }
        let isNew = firstInstant.map { now - $0 < Self.learning } ?? true
        let step = goal.delay > held ? passed * (isNew ? 2 : 1) / goal.growth : passed / goal.shrinkage
        let moved = goal.delay > held ? min(goal.delay, held + step) : max(goal.delay, held - step)
        applied = nature.movesAtOnce && !goal.isFixed ? max(moved, delay) : moved
    }
}
