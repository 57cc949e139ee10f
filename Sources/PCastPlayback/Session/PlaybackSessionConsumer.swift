public import PCastCore

/// Follows the sessions of a controller (seed 003, Brightcove's basic consumer). The controller holds it strongly, and calls
/// it from one thread at a time, in the order in which things happened.
///
/// Who is added late is told at once what is so: the session, its duration, its seekable ranges, its media type and whether
/// it is played elsewhere. Of what has happened (progress, cue points, lifecycle) it is told what comes.
public protocol PlaybackSessionConsumer: AnyObject, Sendable {
    func didAdvance(to session: PlaybackSession)

    /// - Parameter duration: Nil for live media, of which no end is known. May be refined again and again.
    func session(_ session: PlaybackSession, didChangeDuration duration: TimeSpan?)

    func session(_ session: PlaybackSession, didChangeExternalPlaybackActive isActive: Bool)

    /// All cue points of one move of the playhead, in play or by a seek, in one call.
    func session(_ session: PlaybackSession, didPass cuePoints: CuePointPassage)

    /// From before the beginning to behind the end.
    func session(_ session: PlaybackSession, didProgressTo progress: PlaybackProgress)

    func session(_ session: PlaybackSession, didReceive lifecycleEvent: LifecycleEvent)

    func session(_ session: PlaybackSession, didChangeSeekableRanges seekableRanges: [ClosedRange<TimeSpan>])

    func session(_ session: PlaybackSession, determinedMediaType mediaType: SourceMediaType)

    /// The last video was played through its end; with ``PlaybackController/autoAdvance`` only.
    func didCompletePlaylist(_ playlist: [Video])
}

extension PlaybackSessionConsumer {
    public func didAdvance(to session: PlaybackSession) {}
    public func session(_ session: PlaybackSession, didChangeDuration duration: TimeSpan?) {}
    public func session(_ session: PlaybackSession, didChangeExternalPlaybackActive isActive: Bool) {}
    public func session(_ session: PlaybackSession, didPass cuePoints: CuePointPassage) {}
    public func session(_ session: PlaybackSession, didProgressTo progress: PlaybackProgress) {}
    public func session(_ session: PlaybackSession, didReceive lifecycleEvent: LifecycleEvent) {}
    public func session(_ session: PlaybackSession, didChangeSeekableRanges seekableRanges: [ClosedRange<TimeSpan>]) {}
    public func session(_ session: PlaybackSession, determinedMediaType mediaType: SourceMediaType) {}
    public func didCompletePlaylist(_ playlist: [Video]) {}
}

extension PlaybackSessionConsumer {
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
