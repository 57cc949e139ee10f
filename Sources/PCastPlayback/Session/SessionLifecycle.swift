/// The state of one playback session, and its events in their order.
///
/// Told what was asked for and what happens to the media; everything else is a view of this. Of a wrong order, such as media
/// that come after the end of the session, nothing follows.
public struct SessionLifecycle: Sendable {
    private enum Phase {
        /// Nothing has been shown yet.
        case loading
        case ready
        case failed
        case resuming
        case terminated
    }

    private var phase = Phase.loading
    /// Play was asked for, and pause was not since.
    private var isSetToPlay = false
    private var isBuffering = true
    private var isSeeking = false
    private var isStalled = false
    private var isAtEnd = false
    private var isCast = false
    private var events: [LifecycleEvent] = [.bufferEmpty]

    /// Begins to load.
    public init() {}

    /// The next event, in order; nil when there is none.
    public mutating func poll() -> LifecycleEvent? { events.isEmpty ? nil : events.removeFirst() }

    public var playerState: PlayerState {
        switch phase {
        case .failed, .terminated: .idle
        case .loading, .ready, .resuming:
            isSetToPlay ? .playing(buffering: isBuffering) : .paused(buffering: isBuffering)
        }
    }

    public var overlayState: OverlayPlayerState {
        switch phase {
        case .failed, .terminated: return .stopped
        case .loading, .ready, .resuming: break
        }
        if isSeeking { return .seeking }
        if isAtEnd { return .stopped }
        guard isSetToPlay else { return .paused }
        return isBuffering ? .buffering : .playing
    }

    /// Whether it ended, and stands at its end.
    public var hasEnded: Bool { isAtEnd }

    /// Whether it goes on: it has neither failed nor been terminated.
    var isAlive: Bool { phase != .failed && phase != .terminated }

    public mutating func play() {
        guard isAlive else { return }
        events.append(.playRequest)
        // At the end there is nothing to play, until a seek leads away from there.
        guard !isSetToPlay, !isAtEnd else { return }
        isSetToPlay = true
        events.append(.play)
    }

    public mutating func pause() {
        guard isAlive else { return }
        events.append(.pauseRequest)
        setToPause()
    }

    private mutating func setToPause() {
        guard isSetToPlay else { return }
        isSetToPlay = false
        events.append(.pause)
    }

    /// There is nothing to show.
    public mutating func bufferEmptied() {
        guard isAlive, !isBuffering, !isAtEnd else { return }
        isBuffering = true
        events.append(.bufferEmpty)
        // While pictures stand still, nothing stalls; and while they are looked for, there is a buffer to be filled already.
        if isSetToPlay {
            isStalled = true
            events.append(.stalled)
        }
    }

    /// There is enough to go on with; the first time the session is ready by that, and after a failure resumed. A seek has
    /// landed.
    public mutating func bufferFilled() {
        guard isAlive, isBuffering else { return }
        isBuffering = false
        isSeeking = false
        switch phase {
        case .loading: events.append(.ready)
        case .resuming: events.append(.resumeComplete)
        case .ready, .failed, .terminated: break
        }
        phase = .ready
        events.append(.likelyToKeepUp)
        if isStalled { events.append(.recovered) }
        isStalled = false
    }

    /// The position moves elsewhere, and there is nothing to show until its picture is there. Not before the session is ready.
    ///
    /// - Returns: Whether it may.
    @discardableResult
    public mutating func seek() -> Bool {
        guard phase == .ready else { return false }
        isAtEnd = false
        isSeeking = true
        if !isBuffering {
            isBuffering = true
            events.append(.bufferEmpty)
        }
        return true
    }

    /// Another place plays it, or does not any more.
    public mutating func setCast(_ isCast: Bool) {
        guard phase != .terminated, isCast != self.isCast else { return }
        self.isCast = isCast
        events.append(isCast ? .startCastSession : .endCastSession)
    }

    /// Something of it was shown, and more can be.
    var isReady: Bool { phase == .ready }

    /// Whether it can come to its end now.
    var canEnd: Bool { isReady && !isAtEnd && !isSeeking }

    /// The last picture was shown. Told once, until a seek leads away from there.
    public mutating func ended() {
        guard canEnd else { return }
        isAtEnd = true
        isSetToPlay = false
        isBuffering = false
        // Nothing is waited for any more.
        if isStalled { events.append(.recovered) }
        isStalled = false
        events.append(.end)
    }

    /// Media cannot be had or read.
    public mutating func failed(_ reason: String, noPlayableSource: Bool = false) {
        guard isAlive else { return }
        let failure: LifecycleEvent.Failure = noPlayableSource ? .noPlayableSource : .loadFailed(reason)
        switch phase {
        case .loading: events.append(.fail(failure))
        case .resuming: events.append(.resumeFail(failure))
        case .ready, .failed, .terminated: events.append(.failedToPlayToEndTime(.failedToPlayToEnd(reason)))
        }
        phase = .failed
        (isBuffering, isSeeking, isStalled, isAtEnd) = (false, false, false, false)
    }

    /// Loads again after a failure, to play where it broke off or not. Not while a resumption is under way.
    ///
    /// - Returns: Whether it does.
    @discardableResult
    public mutating func resume(playing: Bool) -> Bool {
        guard phase == .failed else { return false }
        phase = .resuming
        isBuffering = true
        events.append(.resumeBegin)
        events.append(.bufferEmpty)
        if playing, !isSetToPlay { events.append(.play) }
        if !playing, isSetToPlay { events.append(.pause) }
        isSetToPlay = playing
        return true
    }

    /// It is over, and is never begun again.
    public mutating func terminate() {
        guard phase != .terminated else { return }
        setCast(false)
        phase = .terminated
        events.append(.terminate)
    }
}
