import PCastCore

/// Follows a player (seed 001, VideoKit's `PlayerObserver`). The player holds it weakly, and calls it from one thread at a
/// time, in the order in which things happened. Times are in seconds.
///
/// Who is written in a Swift before concurrency, as VideoKit's own samples are, need not say that it can be sent.
@preconcurrency public protocol PlayerObserver: AnyObject, Sendable {
    func playerStateChanged(_ state: PlayerState)

    /// Likely playback was stopped as a consequence.
    func playerError(_ error: any Error)

    /// The content can be played with `play()`.
    func playerPlaybackReady()

    /// The playback has reached the end of the content.
    func playerPlaybackFinished()

    /// The text to show now; nil for none.
    func playerSubtitleChanged(_ text: String?)

    func playerVideoChanged(video: Video?)

    /// Infinite for live media, of which no end is known.
    func playerDurationChanged(duration: Double)

    /// Many times while it plays.
    func playerPositionChanged(position: Double)

    func playerMutedChanged(muted: Bool)

    func playerAspectModeChanged(aspectMode: AspectMode)
}

extension PlayerObserver {
    public func playerStateChanged(_ state: PlayerState) {}
    public func playerError(_ error: any Error) {}
    public func playerPlaybackReady() {}
    public func playerPlaybackFinished() {}
    public func playerSubtitleChanged(_ text: String?) {}
    public func playerVideoChanged(video: Video?) {}
    public func playerDurationChanged(duration: Double) {}
    public func playerPositionChanged(position: Double) {}
    public func playerMutedChanged(muted: Bool) {}
    public func playerAspectModeChanged(aspectMode: AspectMode) {}
}

extension PlayerObserver {
    func observe(_ event: PlayerEvent) {
        switch event.kind {
        case .stateChanged(let state): playerStateChanged(state)
        case .error(let error): playerError(error)
        case .ready: playerPlaybackReady()
        case .finished: playerPlaybackFinished()
        case .subtitleChanged(let text): playerSubtitleChanged(text)
        case .videoChanged(let video): playerVideoChanged(video: video)
        case .durationChanged(let duration): playerDurationChanged(duration: duration?.seconds ?? .infinity)
        case .progressed(.at(let position)): playerPositionChanged(position: position.seconds)
        case .mutedChanged(let muted): playerMutedChanged(muted: muted)
        case .aspectModeChanged(let aspectMode): playerAspectModeChanged(aspectMode: aspectMode)
        case .volumeChanged, .speedChanged, .loopChanged, .lifecycle, .progressed, .passedCuePoints,
            .seekableRangesChanged, .mediaTypeDetermined, .externalPlaybackChanged, .tracksChanged,
            .dimensionsChanged, .videoScaleChanged, .metadata, .arrived, .playlistCompleted:
            break
        }
    }
}
