import PCastCore

/// An observer of a player (VideoKit's `PlayerObserver`). The player holds it weakly, and calls it from one thread at a
/// time, in the order of the events. Times are in seconds. All methods have empty default implementations.
///
/// The protocol is `@preconcurrency`, so observers from Swift 5 without `Sendable` compile.
@preconcurrency public protocol PlayerObserver: AnyObject, Sendable {
    /// Notifies that the state changed.
    func playerStateChanged(_ state: PlayerState)

    /// Notifies of an error, which usually stops playback.
    func playerError(_ error: any Error)

    /// Notifies that the content can be played with `play()`.
    func playerPlaybackReady()

    /// Notifies that playback has reached the end of the content.
    func playerPlaybackFinished()

    /// Notifies that the displayed subtitle changed; nil for none.
    func playerSubtitleChanged(_ text: String?)

    /// Notifies that the video changed; nil without content.
    func playerVideoChanged(video: Video?)

    /// Notifies that the duration in seconds changed; infinity for live media.
    func playerDurationChanged(duration: Double)

    /// Notifies of the position in seconds, at each displayed frame.
    func playerPositionChanged(position: Double)

    /// Notifies that the audio was muted or unmuted.
    func playerMutedChanged(muted: Bool)

    /// Notifies that the mode that fits frames into the display area changed.
    func playerAspectModeChanged(aspectMode: AspectMode)
}

extension PlayerObserver {
    /// Does nothing.
    public func playerStateChanged(_ state: PlayerState) {}
    /// Does nothing.
    public func playerError(_ error: any Error) {}
    /// Does nothing.
    public func playerPlaybackReady() {}
    /// Does nothing.
    public func playerPlaybackFinished() {}
    /// Does nothing.
    public func playerSubtitleChanged(_ text: String?) {}
    /// Does nothing.
    public func playerVideoChanged(video: Video?) {}
    /// Does nothing.
    public func playerDurationChanged(duration: Double) {}
    /// Does nothing.
    public func playerPositionChanged(position: Double) {}
    /// Does nothing.
    public func playerMutedChanged(muted: Bool) {}
    /// Does nothing.
    public func playerAspectModeChanged(aspectMode: AspectMode) {}
}

extension PlayerObserver {
    /// Calls the method that corresponds to an event, if there is one.
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
