import PCastCore

/// Restores the distance of low-latency playback from the live edge, after its start and after a stall. It plays at a
/// slightly higher rate, or seeks if the distance is too great. It does nothing after a seek back or a pause.
///
/// The known edge advances in steps, with each update of the playlist. The default distance is that just after an update;
/// just before the next one, playback is nearer to the known edge by the duration of a part. Therefore the least distance
/// over an interval counts, and it may be less than the default one.
struct LiveEdgeCatchUp {
    /// An action.
    enum Step: Equatable {
        /// Continue without a change.
        case unchanged
        /// Play at a rate.
        case play(rate: Double)
        /// Seek to the default distance from the edge.
        case jump
    }

    /// The higher rate, which is hardly noticeable because the pitch does not change.
    static let rate = 1.1
    /// The interval over which the least distance is measured.
    private static let interval = TimeSpan.seconds(2)

    /// Whether playback is near the edge and the distance is controlled.
    private(set) var isActive = false
    /// Whether playback is at the higher rate.
    private(set) var isFaster = false
    /// The least distance in the current interval; nil at its beginning.
    private var least: TimeSpan?
    private var intervalEnd: Instant?
    /// The additional distance that is accepted, because playback nearer to the edge has stalled.
    private var slack = TimeSpan.zero
    /// The number of intervals for which a stall is attributed to the last time at the higher rate.
    private var trialIntervals = 0

    /// The number of intervals in which playback shows that it does not stall at the distance that it has reached.
    private static let trial = 5

    /// Returns the part of the default distance by which playback may be nearer to the known edge just before an update:
    /// somewhat less than a part, of which it is at least three.
    private static func allowance(_ holdBack: TimeSpan) -> TimeSpan { holdBack / 4 }

    /// Begins at the start of playback. `lag` is the current distance behind the default position, and `holdBack` is
    /// the default distance from the edge. `isAtEdge` is whether playback is meant to be at the edge, however late its first
    /// frame is.
    mutating func begin(behind lag: TimeSpan, holdBack: TimeSpan, isAtEdge: Bool = false) {
        isActive = isAtEdge || lag <= holdBack * 2
        isFaster = false
        if !isAtEdge { slack = .zero }
        look()
    }

    /// Returns to the normal rate, for example because of a stall. A stall at the higher rate or soon after it increases the
    /// accepted distance.
    mutating func interrupt(holdBack: TimeSpan) {
        if isFaster || trialIntervals > 0 { slack = min(slack + holdBack / 2, holdBack * 4) }
        isFaster = false
        trialIntervals = 0
        look()
    }

    /// Begins a new interval.
    private mutating func look() { (least, intervalEnd) = (nil, nil) }

    /// Returns the action for the current distance while the position advances.
    mutating func step(behind lag: TimeSpan, holdBack: TimeSpan, at now: Instant) -> Step {
        guard isActive else { return .unchanged }
        let lag = lag - slack + Self.allowance(holdBack)
        if isFaster {
            guard lag <= .zero else { return .unchanged }
            isFaster = false
            trialIntervals = Self.trial
            look()
            return .play(rate: 1)
        }
        least = min(least ?? lag, lag)
        guard let end = intervalEnd else {
            intervalEnd = now + Self.interval
            return .unchanged
        }
        guard now >= end, let least else { return .unchanged }
        look()
        trialIntervals = max(0, trialIntervals - 1)
        if least > holdBack * 2 + Self.allowance(holdBack) {
            // A machine that falls behind again and again gets more time between two jumps.
            slack = min(slack + holdBack / 2, holdBack * 4)
            return .jump
        }
        guard least > holdBack / 16 else { return .unchanged }
        isFaster = true
        return .play(rate: Self.rate)
    }
}

extension MediaPresentation {
    /// Returns the distance behind the default position, and the default distance from the edge; nil for content that
    /// is not live with low latency.
    private func edge(at now: Instant) -> (lag: TimeSpan, holdBack: TimeSpan)? {
        guard let overview, overview.isLowLatency, let holdBack = overview.liveEdge, let range = clock.seekableRange
        else { return nil }
        return (range.upperBound - clock.position(at: now), holdBack)
    }

    /// Begins to control the distance or the playout delay, at the start of playback.
    mutating func beginCatchUp(at now: Instant) {
        endCatchUp(at: now)
        beginSynchronization(at: now)
        guard let edge = edge(at: now) else { return }
        edgeCatchUp.begin(behind: edge.lag, holdBack: edge.holdBack, isAtEdge: followsLiveEdge)
    }

    /// Returns to the normal rate, at a stall or a seek.
    mutating func endCatchUp(at now: Instant) {
        endCorrection(at: now)
        guard let holdBack = overview?.liveEdge else { return }
        if edgeCatchUp.isFaster { play(at: 1, now) }
        edgeCatchUp.interrupt(holdBack: holdBack)
    }

    /// Carries out the action for the current distance, unless playback has a playout delay.
    mutating func catchUpWithEdge(at now: Instant) {
        guard !synchronize(at: now), clock.isMoving, clock.playbackRate == 1 || edgeCatchUp.isFaster,
            let edge = edge(at: now)
        else { return }
        switch edgeCatchUp.step(behind: edge.lag, holdBack: edge.holdBack, at: now) {
        case .unchanged: break
        case .play(let rate): play(at: rate, now)
        case .jump:
            if let range = clock.seekableRange { jumpToLivePosition(in: range, at: now) }
        }
    }

    /// The duration of absent media of a live stream from which on playback continues after it at once.
    private static let skippedHole = TimeSpan.milliseconds(300)

    /// Continues after media that is absent from a live stream, such as that of a publisher that reconnected, but not beyond
    /// the default distance from the live edge. Playback that waited for the media would otherwise be later by the duration of
    /// the absence.
    mutating func skipHole(at now: Instant) {
        guard overview?.kind == .live, clock.isMoving else { return }
        let position = clock.position(at: now)
        audioQueue.discard(before: position)
        var next: TimeSpan?
        for kind in awaited {
            // A medium whose next sample is not known yet may continue at the position.
            let first = kind == .video ? videoQueue.first?.position : audioQueue.first?.position
            if first == nil, !isSparse(kind) { return }
            next = [next, first].compactMap(\.self).min()
        }
        guard var target = next, shownEnd.map({ $0 <= position }) ?? true else { return }
        if let range = clock.seekableRange { target = min(target, range.upperBound) }
        guard target - position > Self.skippedHole else { return }
        discardAudio(at: now)
        clock.show(target, of: clock.epoch, available: available, at: now)
        // The audio begins later by the latency of its output.
        clock.setBuffering(true, of: clock.epoch, at: now)
        fill(at: now)
    }
}
