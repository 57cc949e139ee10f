/// The state machine of one playback session, with its events in order.
///
/// Inputs are the commands and the events of the media. An input that is not valid in the current state, such as media
/// after the end of the session, has no effect.
package struct SessionLifecycle: Sendable {
    /// The phase of the session.
    private enum Phase {
        /// No frame was displayed yet.
        case loading
        /// A frame was displayed.
        case ready
        /// Playback failed.
        case failed
        /// Loading restarts after a failure.
        case resuming
        /// The session is over.
        case terminated
    }

    private var phase = Phase.loading
    /// Whether playback was requested and not paused since.
    private var isSetToPlay = false
    private var isBuffering = true
    private var isSeeking = false
    private var isStalled = false
    private var isAtEnd = false
    private var isStopped = false
    private var isCast = false
    private var events: [LifecycleEvent] = [.bufferEmpty]

    /// Creates the lifecycle of a session that begins to load.
    package init() {}

    /// Returns the next event in order; nil if there is none.
    package mutating func poll() -> LifecycleEvent? { events.isEmpty ? nil : events.removeFirst() }

    /// The state as observers of the player receive it.
    package var playerState: PlayerState {
        switch phase {
        case .failed, .terminated: .idle
        case .loading, .ready, .resuming:
            isSetToPlay ? .playing(buffering: isBuffering) : .paused(buffering: isBuffering)
        }
    }

    /// The state as overlays receive it.
    package var overlayState: OverlayPlayerState {
        switch phase {
        case .failed, .terminated: return .stopped
        case .loading, .ready, .resuming: break
        }
        if isStopped { return .stopped }
        if isSeeking { return .seeking }
        if isAtEnd { return .stopped }
        guard isSetToPlay else { return .paused }
        return isBuffering ? .buffering : .playing
    }

    /// Whether playback stands at the end of the content.
    package var hasEnded: Bool { isAtEnd }

    /// Whether the session has neither failed nor been terminated.
    var isAlive: Bool { phase != .failed && phase != .terminated }

    /// Sets the session to play.
    package mutating func play() {
        guard isAlive else { return }
        events.append(.playRequest)
        isStopped = false
        // At the end there is nothing to play until a seek.
        guard !isSetToPlay, !isAtEnd else { return }
        isSetToPlay = true
        events.append(.play)
    }

    /// Sets the session to pause.
    package mutating func pause() {
        guard isAlive else { return }
        events.append(.pauseRequest)
        setToPause()
    }

    /// Sets the session to pause at the beginning. Overlays receive it as stopped until it plays or seeks.
    package mutating func stop() {
        guard isAlive else { return }
        isStopped = true
        events.append(.pauseRequest)
        setToPause()
    }

    /// Sets the session to pause, if it is set to play.
    private mutating func setToPause() {
        guard isSetToPlay else { return }
        isSetToPlay = false
        events.append(.pause)
    }

    /// Records that there is no frame to display.
    package mutating func bufferEmptied() {
        guard isAlive, !isBuffering, !isAtEnd else { return }
        isBuffering = true
        events.append(.bufferEmpty)
        // A stall needs moving video: a paused session does not stall, and during a seek the buffer is empty already.
        if isSetToPlay {
            isStalled = true
            events.append(.stalled)
        }
    }

    /// Records that enough media has arrived for playback, or that a seek is complete. The first time, the session
    /// becomes ready; after a failure, it resumes.
    package mutating func bufferFilled() {
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

    /// Records that a seek begins. The buffer is empty until a frame of its position is displayed. Returns false,
    /// without effect, before the session is ready.
    @discardableResult
    package mutating func seek() -> Bool {
        guard phase == .ready else { return false }
        isStopped = false
        beginSeek()
        return true
    }

    /// Records that the seek to the beginning of a stopped session begins, if the session is ready.
    mutating func seekToBeginning() {
        guard phase == .ready else { return }
        beginSeek()
    }

    private mutating func beginSeek() {
        isAtEnd = false
        isSeeking = true
        if !isBuffering {
            isBuffering = true
            events.append(.bufferEmpty)
        }
    }

    /// Records whether another device plays the session.
    package mutating func setCast(_ isCast: Bool) {
        guard phase != .terminated, isCast != self.isCast else { return }
        self.isCast = isCast
        events.append(isCast ? .startCastSession : .endCastSession)
    }

    /// Whether a frame was displayed and playback can continue.
    var isReady: Bool { phase == .ready }

    /// Whether the session can reach its end now.
    var canEnd: Bool { isReady && !isAtEnd && !isSeeking }

    /// Records that the last frame was displayed. It has no effect again until a seek.
    package mutating func ended() {
        guard canEnd else { return }
        isAtEnd = true
        isSetToPlay = false
        isBuffering = false
        // No media is missing any more.
        if isStalled { events.append(.recovered) }
        isStalled = false
        events.append(.end)
    }

    /// Records that the media is unavailable or cannot be decoded.
    package mutating func failed(_ reason: String, noPlayableSource: Bool = false) {
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

    /// Records that loading restarts after a failure. Returns false, without effect, if the session has not failed or
    /// is already resuming.
    @discardableResult
    package mutating func resume(playing: Bool) -> Bool {
        guard phase == .failed else { return false }
        phase = .resuming
        isBuffering = true
        events.append(.resumeBegin)
        events.append(.bufferEmpty)
        if playing, !isSetToPlay { events.append(.play) }
        if !playing, isSetToPlay { events.append(.pause) }
        isSetToPlay = playing
        if playing { isStopped = false }
        return true
    }

    /// Records that the session is over.
    package mutating func terminate() {
        guard phase != .terminated else { return }
        setCast(false)
        phase = .terminated
        events.append(.terminate)
    }
}

/// An event in the lifecycle of a session (Brightcove's `BCOVPlaybackSessionLifecycleEvent`).
public enum LifecycleEvent: Hashable, Sendable {
    /// The reason for a failure.
    public enum Failure: Hashable, Sendable {
        /// The media was not loaded, for the reason given.
        case loadFailed(String)
        /// Playback failed in the middle, for the reason given. It can be resumed.
        case failedToPlayToEnd(String)
        /// The video has no source that can be played.
        case noPlayableSource
    }

    /// The session can be played. It occurs once.
    case ready
    /// The session failed before it was ready.
    case fail(Failure)
    /// Playback was requested. It occurs for each request.
    case playRequest
    /// A pause was requested. It occurs for each request.
    case pauseRequest
    /// The session changed to playing, perhaps before it is ready.
    case play
    /// The session changed to paused.
    case pause
    /// There is no frame to display: at the beginning, after a seek, and when media arrives too slowly.
    case bufferEmpty
    /// Enough media has arrived for playback.
    case likelyToKeepUp
    /// Playback stopped because media arrived too slowly.
    case stalled
    /// Playback resumed after a stall.
    case recovered
    /// Playback failed after the session was ready.
    case failedToPlayToEndTime(Failure)
    /// Loading restarted after a failure.
    case resumeBegin
    /// The restart after a failure succeeded.
    case resumeComplete
    /// The restart after a failure failed.
    case resumeFail(Failure)
    /// External playback began, and local playback is silent.
    case startCastSession
    /// External playback ended.
    case endCastSession
    /// The session was played to its end.
    case end
    /// The session is over. No event follows.
    case terminate
}
