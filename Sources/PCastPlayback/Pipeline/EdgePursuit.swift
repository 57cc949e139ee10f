import PCastCore

/// Brings low-latency playback back to its distance from the edge, once it had to wait: by playing a little faster, or at once
/// where that would take too long. Who has gone back in the window, or was paused, is left in peace.
///
/// The edge that is known goes on by steps, those of the playlist: what counts is how far behind playback was at least for a
/// while.
struct EdgePursuit {
    enum Step: Equatable {
        /// As before.
        case goOn
        case play(rate: Double)
        case jump
    }

    /// So little faster that it is hardly noticed; the pitch is kept.
    static let rate = 1.1
    private static let interval = TimeSpan.seconds(2)

    /// It is at the edge, and stays there.
    private(set) var isActive = false
    private(set) var isFaster = false
    private var least: TimeSpan?
    private var intervalEnd: Instant?
    /// Who had to wait because of it stays so much further behind.
    private var slack = TimeSpan.zero

    /// It begins to play.
    ///
    /// - Parameters:
    ///   - lag: how far behind the place where it would be joined now.
    ///   - holdBack: how far that is from the edge.
    mutating func begin(behind lag: TimeSpan, holdBack: TimeSpan) {
        isActive = lag <= holdBack * 2
        (isFaster, slack) = (false, .zero)
        look()
    }

    /// It plays at the usual rate from here on, and has to wait perhaps.
    mutating func interrupt(holdBack: TimeSpan) {
        if isFaster { slack = min(slack + holdBack / 2, holdBack * 4) }
        isFaster = false
        look()
    }

    private mutating func look() { (least, intervalEnd) = (nil, nil) }

    /// While it moves.
    mutating func step(behind lag: TimeSpan, holdBack: TimeSpan, at now: Instant) -> Step {
        guard isActive else { return .goOn }
        let lag = lag - slack
        if isFaster {
            guard lag <= holdBack / 16 else { return .goOn }
            isFaster = false
            look()
            return .play(rate: 1)
        }
        least = min(least ?? lag, lag)
        guard let end = intervalEnd else {
            intervalEnd = now + Self.interval
            return .goOn
        }
        guard now >= end, let least else { return .goOn }
        look()
        if least > holdBack * 2 { return .jump }
        guard least > holdBack / 3 else { return .goOn }
        isFaster = true
        return .play(rate: Self.rate)
    }
}

extension MediaPresentation {
    /// How far behind the place where it would be joined now, and how far that is from the edge; nil for what is not live with
    /// low latency.
    private func edge(at now: Instant) -> (lag: TimeSpan, holdBack: TimeSpan)? {
        guard let overview, overview.isLowLatency, let holdBack = overview.liveEdge, let range = clock.seekableRange
        else { return nil }
        return (range.upperBound - clock.position(at: now), holdBack)
    }

    /// It begins to play here.
    mutating func beginPursuit(at now: Instant) {
        endPursuit(at: now)
        if let edge = edge(at: now) { pursuit.begin(behind: edge.lag, holdBack: edge.holdBack) }
    }

    /// It plays as fast as usual, because it waits or goes elsewhere.
    mutating func endPursuit(at now: Instant) {
        guard let holdBack = overview?.liveEdge else { return }
        if pursuit.isFaster { play(at: 1, now) }
        pursuit.interrupt(holdBack: holdBack)
    }

    mutating func pursueEdge(at now: Instant) {
        guard clock.isMoving, clock.playbackRate == 1 || pursuit.isFaster, let edge = edge(at: now) else { return }
        switch pursuit.step(behind: edge.lag, holdBack: edge.holdBack, at: now) {
        case .goOn: break
        case .play(let rate): play(at: rate, now)
        case .jump:
            guard let range = clock.seekableRange else { return }
            outputs.append(.interruptReader)
            evict(to: range.upperBound, at: now)
        }
    }
}
