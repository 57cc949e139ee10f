import PCastCore

/// Keeps live playback at a fixed delay after capture, by the wall clock. All players with the same delay then show the
/// same frame at the same time.
///
/// A small deviation is corrected by a slightly different rate, and a greater one by a seek. A delay that is shorter than
/// the default distance from the live edge is unreachable, and is not pursued.
struct SynchronizedPlayout {
    /// An action.
    enum Step: Equatable {
        /// Continue without a change.
        case unchanged
        /// Play at a rate.
        case play(rate: Double)
        /// Seek to the frame that is due.
        case jump
    }

    /// The change of the rate during a correction, which is hardly noticeable because the pitch does not change.
    static let rateChange = 0.05
    /// The deviation from which on it is corrected.
    static let tolerance = TimeSpan.milliseconds(20)
    /// The deviation at which a correction ends.
    static let precision = TimeSpan.milliseconds(4)
    /// The deviation from which on a seek corrects it.
    static let longestCorrection = TimeSpan.seconds(1 as Int64)
    /// The time that is left for loading before the frame of a seek is due. Playback waits for the rest of it.
    static let loadingTime = TimeSpan.milliseconds(300)

    /// The interval over which the nearest distance to the live edge is measured. The known edge advances in steps.
    private static let interval = TimeSpan.seconds(2 as Int64)
    /// The margin to the default distance below which the delay counts as unreachable, and from which on it counts as
    /// reachable again.
    private static let marginLimits = (leave: TimeSpan.milliseconds(-20), join: TimeSpan.milliseconds(50))
    /// The time after which a stall is not attributed to the one before, and the first pause after such a stall.
    private static let stallMemory = TimeSpan.seconds(30 as Int64)
    private static let firstPause = TimeSpan.seconds(5 as Int64)
    /// The maximum number of times that a pause is doubled.
    private static let doublingLimit: Int64 = 3

    /// Whether playback is meant to be synchronized.
    private(set) var isActive = false
    /// Whether the delay is at least the default distance from the live edge.
    private(set) var isReachable = true
    /// The rate of the current correction; 1 for none.
    private(set) var rate = 1.0
    /// The greatest margin in the current interval; nil at its beginning.
    private var margin: TimeSpan?
    private var intervalEnd: Instant?
    private var lastStall: Instant?
    private var repeatedStalls: Int64 = 0
    /// The time until which lateness is not corrected, because playback stalls again and again.
    private var pauseEnd: Instant?
    /// The time before which no other seek is made.
    private var nextJump: Instant?
    private var repeatedJumps: Int64 = 0

    /// Whether playback follows the delay.
    var isSynchronized: Bool { isActive && isReachable }

    /// Begins at the start of playback or after a seek. `isActive` is whether playback is meant to be synchronized.
    mutating func begin(isActive: Bool) {
        self.isActive = isActive
        interrupt()
    }

    /// Returns to the normal rate.
    mutating func interrupt() { rate = 1 }

    /// Records a stall. If stalls recur, lateness remains for some time, because the next correction would cause another.
    mutating func noteStall(at now: Instant) {
        let recurs = lastStall.map { now - $0 < Self.stallMemory } ?? false
        repeatedStalls = recurs ? min(repeatedStalls + 1, Self.doublingLimit + 1) : 0
        lastStall = now
        pauseEnd = repeatedStalls > 0 ? now + Self.firstPause * (1 << (repeatedStalls - 1)) : nil
    }

    /// Records by how much the frame that is due is further from the live edge than the default position; negative if it
    /// is nearer.
    mutating func note(margin: TimeSpan, at now: Instant) {
        self.margin = max(self.margin ?? margin, margin)
        guard let intervalEnd else {
            self.intervalEnd = now + Self.interval
            return
        }
        guard now >= intervalEnd, let greatest = self.margin else { return }
        (self.margin, self.intervalEnd) = (nil, nil)
        isReachable = greatest >= (isReachable ? Self.marginLimits.leave : Self.marginLimits.join)
    }

    /// Returns the action for the current deviation while the position advances. `late` is the time by which playback is
    /// late; negative if it is early. `canJump` is whether the frame that is due can be sought.
    mutating func step(late: TimeSpan, canJump: Bool, at now: Instant) -> Step {
        guard isSynchronized else { return .unchanged }
        let isPaused = late > .zero && pauseEnd.map { now < $0 } ?? false
        if late.magnitude > Self.longestCorrection, canJump, !isPaused, nextJump.map({ now >= $0 }) ?? true {
            nextJump = now + Self.firstPause * (1 << repeatedJumps)
            repeatedJumps = min(repeatedJumps + 1, Self.doublingLimit)
            return .jump
        }
        if rate != 1 {
            guard (rate > 1 ? late : -late) <= Self.precision || isPaused else { return .unchanged }
            rate = 1
            return .play(rate: 1)
        }
        if late.magnitude <= Self.tolerance {
            repeatedJumps = 0
            return .unchanged
        }
        guard !isPaused else { return .unchanged }
        rate = late > .zero ? 1 + Self.rateChange : 1 - Self.rateChange
        return .play(rate: rate)
    }
}

extension MediaPresentation {
    /// The time by which a frame may be captured later than now. The clocks of the hosts disagree if it is more.
    private static let clockTolerance = TimeSpan.milliseconds(100)

    /// Returns the wall-clock time at an instant; nil if it is unknown.
    private func wallTime(at now: Instant) -> WallTime? {
        wallClockOrigin.map { $0 + (now - Instant(nanoseconds: 0)) }
    }

    /// Returns the time by which a position is displayed late at `now`, compared with the playout delay; negative if it is
    /// early. Nil if there is no delay, or if the time of capture is unknown or in the future.
    func lateness(of position: TimeSpan, at now: Instant) -> TimeSpan? {
        guard let overview, overview.kind == .live, let delay = overview.playoutDelay, let wallTime = wallTime(at: now),
            let captured = clock.timecode(at: position), let age = wallTime.span(since: captured),
            age >= -Self.clockTolerance
        else { return nil }
        return age - delay
    }

    /// Returns the position to which a live stream is sought: that of the frame that is due with the playout delay, or
    /// the default one.
    func livePosition(in range: ClosedRange<TimeSpan>, at now: Instant) -> TimeSpan {
        guard playout.isSynchronized, let delay = overview?.playoutDelay, let wallTime = wallTime(at: now) else {
            return range.upperBound
        }
        let captured = wallTime - delay + SynchronizedPlayout.loadingTime
        return clock.anchors.position(of: captured, in: range) ?? range.upperBound
    }

    /// Returns the time at which the current frame is due with the playout delay, but not before `earliest`.
    func start(notBefore earliest: Instant, at now: Instant) -> Instant {
        guard playout.isSynchronized, let late = lateness(of: clock.position(at: now), at: now) else { return earliest }
        return max(earliest, now - late)
    }

    /// Begins to synchronize playback, if it is meant to be live: it follows the live edge, or is not much later than the
    /// frame that is due.
    mutating func beginSynchronization(at now: Instant) {
        guard let late = lateness(of: clock.position(at: now), at: now), let holdBack = overview?.liveEdge else {
            return playout.begin(isActive: false)
        }
        playout.begin(isActive: followsLiveEdge || late <= holdBack * 2)
    }

    /// Returns to the normal rate if it was changed to correct a deviation.
    mutating func endCorrection(at now: Instant) {
        if playout.rate != 1 { play(at: 1, now) }
        playout.interrupt()
    }

    /// Carries out the action for the current deviation from the playout delay. Returns false if playback is not
    /// synchronized, and follows the live edge instead.
    mutating func synchronize(at now: Instant) -> Bool {
        guard playout.isActive, clock.isMoving else { return false }
        let position = clock.position(at: now)
        guard let range = clock.seekableRange, let late = lateness(of: position, at: now) else {
            endCorrection(at: now)
            return false
        }
        let due = position + late
        let wasReachable = playout.isReachable
        playout.note(margin: range.upperBound - due, at: now)
        // The pursuit of the live edge begins or ends.
        if playout.isReachable != wasReachable { beginCatchUp(at: now) }
        guard playout.isReachable else { return false }
        guard clock.playbackRate == 1 || playout.rate != 1 else { return true }
        let canJump = due >= range.lowerBound && due <= range.upperBound
        // Playback that waits for its first frame to be due is not early.
        let wait = clock.instant(of: position).map { max($0 - now, .zero) } ?? .zero
        switch playout.step(late: late + wait, canJump: canJump, at: now) {
        case .unchanged: break
        case .play(let rate): play(at: rate, now)
        case .jump: jumpToLivePosition(in: range, at: now)
        }
        return true
    }

    /// Seeks to the live position.
    mutating func jumpToLivePosition(in range: ClosedRange<TimeSpan>, at now: Instant) {
        followsLiveEdge = true
        outputs.append(.interruptReader)
        evict(to: livePosition(in: range, at: now), at: now)
    }
}
