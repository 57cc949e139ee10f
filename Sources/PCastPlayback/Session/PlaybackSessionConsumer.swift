/// An object that follows the sessions of a controller (Brightcove's `BCOVPlaybackSessionConsumer`). The controller
/// holds it strongly, and calls it from one thread at a time, in the order of the events. All methods have empty
/// default implementations.
///
/// A consumer that is added later receives the current values at once: the session, its duration, its seekable ranges,
/// its media type and its external playback status. Of events (progress, cue points, lifecycle) it receives only later
/// ones.
public protocol PlaybackSessionConsumer: AnyObject, Sendable {
    /// Notifies that the controller advanced to a session.
    func didAdvance(to session: PlaybackSession)

    /// Notifies that the duration changed; nil for live media. It may be refined several times.
    func session(_ session: PlaybackSession, didChangeDuration duration: Duration?)

    /// Notifies that external playback began or ended.
    func session(_ session: PlaybackSession, didChangeExternalPlaybackActive isActive: Bool)

    /// Notifies that one move of the playhead, by playback or by a seek, passed cue points. All of them are in one
    /// call.
    func session(_ session: PlaybackSession, didPass cuePoints: CuePointPassage)

    /// Notifies of the progress, from before the beginning to after the end.
    func session(_ session: PlaybackSession, didProgressTo progress: PlaybackProgress)

    /// Notifies of a lifecycle event.
    func session(_ session: PlaybackSession, didReceive lifecycleEvent: LifecycleEvent)

    /// Notifies that the seekable ranges changed.
    func session(_ session: PlaybackSession, didChangeSeekableRanges seekableRanges: [ClosedRange<Duration>])

    /// Notifies whether the source has only audio or audio and video.
    func session(_ session: PlaybackSession, determinedMediaType mediaType: SourceMediaType)

    /// Notifies that the last video was played to its end. It occurs only with ``PlaybackController/autoAdvance``.
    func didCompletePlaylist(_ playlist: [Video])
}

extension PlaybackSessionConsumer {
    /// Does nothing.
    public func didAdvance(to session: PlaybackSession) {}
    /// Does nothing.
    public func session(_ session: PlaybackSession, didChangeDuration duration: Duration?) {}
    /// Does nothing.
    public func session(_ session: PlaybackSession, didChangeExternalPlaybackActive isActive: Bool) {}
    /// Does nothing.
    public func session(_ session: PlaybackSession, didPass cuePoints: CuePointPassage) {}
    /// Does nothing.
    public func session(_ session: PlaybackSession, didProgressTo progress: PlaybackProgress) {}
    /// Does nothing.
    public func session(_ session: PlaybackSession, didReceive lifecycleEvent: LifecycleEvent) {}
    /// Does nothing.
    public func session(_ session: PlaybackSession, didChangeSeekableRanges seekableRanges: [ClosedRange<Duration>]) {}
    /// Does nothing.
    public func session(_ session: PlaybackSession, determinedMediaType mediaType: SourceMediaType) {}
    /// Does nothing.
    public func didCompletePlaylist(_ playlist: [Video]) {}
}

extension PlaybackSessionConsumer {
    /// Calls the method that corresponds to an event, if there is one.
    func consume(_ event: PlayerEvent) {
        if case .playlistCompleted(let videos) = event.kind { didCompletePlaylist(videos) }
        guard let session = event.session else { return }
        switch event.kind {
        case .videoChanged: didAdvance(to: session)
        case .durationChanged(let duration): self.session(session, didChangeDuration: duration)
        case .externalPlaybackChanged(let isActive):
            self.session(session, didChangeExternalPlaybackActive: isActive)
        case .passedCuePoints(let passage): self.session(session, didPass: passage)
        case .progressed(let progress): self.session(session, didProgressTo: progress)
        case .lifecycle(let lifecycleEvent): self.session(session, didReceive: lifecycleEvent)
        case .seekableRangesChanged(let ranges): self.session(session, didChangeSeekableRanges: ranges)
        case .mediaTypeDetermined(let mediaType): self.session(session, determinedMediaType: mediaType)
        case .stateChanged, .error, .ready, .finished, .subtitleChanged, .mutedChanged,
            .volumeChanged, .speedChanged, .loopChanged, .aspectModeChanged, .tracksChanged, .dimensionsChanged,
            .videoScaleChanged, .metadata, .arrived, .playlistCompleted:
            break
        }
    }
}
