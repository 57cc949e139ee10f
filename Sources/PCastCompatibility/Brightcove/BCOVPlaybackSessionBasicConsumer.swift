public import PCastPlayback

/// Receives the events of each session (Brightcove: `BCOVPlaybackSessionBasicConsumer`).
///
/// All functions are optional. Times are in seconds, and the progress is infinite at both ends. Calls are sequential,
/// but on no particular thread.
public protocol BCOVPlaybackSessionBasicConsumer: AnyObject {
    /// The controller has advanced to a session.
    func didAdvance(to session: BCOVPlaybackSession!)
    /// The duration has changed. It is infinite for live media without a known end.
    func playbackSession(_ session: BCOVPlaybackSession!, didChangeDuration duration: Double)
    /// The external playback status has changed.
    func playbackSession(
        _ session: BCOVPlaybackSession!, didChangeExternalPlaybackActive externalPlaybackActive: Bool)
    /// Playback has passed cue points. The keys of the dictionary are `kBCOVPlaybackSessionEventKey…`.
    func playbackSession(_ session: BCOVPlaybackSession!, didPassCuePoints cuePointInfo: [AnyHashable: Any]!)
    /// Playback has progressed.
    func playbackSession(_ session: BCOVPlaybackSession!, didProgressTo progress: Double)
    /// The last video of the playlist has ended.
    func didCompletePlaylist(_ playlist: [BCOVVideo]!)
    /// A lifecycle event has occurred.
    func playbackSession(
        _ session: BCOVPlaybackSession!, didReceive lifecycleEvent: BCOVPlaybackSessionLifecycleEvent!)
    /// The seekable ranges have changed. Each is a `ClosedRange<Double>` where Brightcove has a `CMTimeRange`.
    func playbackSession(_ session: BCOVPlaybackSession!, didChangeSeekableRanges seekableRanges: [Any]!)
    /// The media type of the session is known.
    func playbackSession(_ session: BCOVPlaybackSession!, determinedMediaType mediaType: BCOVSourceMediaType)
}

extension BCOVPlaybackSessionBasicConsumer {
    /// Does nothing by default.
    public func didAdvance(to session: BCOVPlaybackSession!) {}
    /// Does nothing by default.
    public func playbackSession(_ session: BCOVPlaybackSession!, didChangeDuration duration: Double) {}
    /// Does nothing by default.
    public func playbackSession(
        _ session: BCOVPlaybackSession!, didChangeExternalPlaybackActive externalPlaybackActive: Bool
    ) {}
    /// Does nothing by default.
    public func playbackSession(_ session: BCOVPlaybackSession!, didPassCuePoints cuePointInfo: [AnyHashable: Any]!) {}
    /// Does nothing by default.
    public func playbackSession(_ session: BCOVPlaybackSession!, didProgressTo progress: Double) {}
    /// Does nothing by default.
    public func didCompletePlaylist(_ playlist: [BCOVVideo]!) {}
    /// Does nothing by default.
    public func playbackSession(
        _ session: BCOVPlaybackSession!, didReceive lifecycleEvent: BCOVPlaybackSessionLifecycleEvent!
    ) {}
    /// Does nothing by default.
    public func playbackSession(_ session: BCOVPlaybackSession!, didChangeSeekableRanges seekableRanges: [Any]!) {}
    /// Does nothing by default.
    public func playbackSession(
        _ session: BCOVPlaybackSession!, determinedMediaType mediaType: BCOVSourceMediaType
    ) {}
}

/// A consumer of sessions. Brightcove has several kinds, of which this library has the basic one.
public typealias BCOVPlaybackSessionConsumer = BCOVPlaybackSessionBasicConsumer
