public import PCastPlayback

/// Receives what happens to each session (seed 003). Everything is optional. Times are in seconds; progress is infinite at
/// both ends. Called from one thread at a time, which is no thread in particular.
public protocol BCOVPlaybackSessionBasicConsumer: AnyObject {
    func didAdvance(to session: BCOVPlaybackSession!)
    /// Infinite for live media, of which no end is known.
    func playbackSession(_ session: BCOVPlaybackSession!, didChangeDuration duration: Double)
    func playbackSession(
        _ session: BCOVPlaybackSession!, didChangeExternalPlaybackActive externalPlaybackActive: Bool)
    /// - Parameter cuePointInfo: by `kBCOVPlaybackSessionEventKey…`.
    func playbackSession(_ session: BCOVPlaybackSession!, didPassCuePoints cuePointInfo: [AnyHashable: Any]!)
    func playbackSession(_ session: BCOVPlaybackSession!, didProgressTo progress: Double)
    func didCompletePlaylist(_ playlist: [BCOVVideo]!)
    func playbackSession(
        _ session: BCOVPlaybackSession!, didReceive lifecycleEvent: BCOVPlaybackSessionLifecycleEvent!)
    /// - Parameter seekableRanges: each a `ClosedRange<Double>`, where Brightcove has a `CMTimeRange`.
    func playbackSession(_ session: BCOVPlaybackSession!, didChangeSeekableRanges seekableRanges: [Any]!)
    func playbackSession(_ session: BCOVPlaybackSession!, determinedMediaType mediaType: BCOVSourceMediaType)
}

extension BCOVPlaybackSessionBasicConsumer {
    public func didAdvance(to session: BCOVPlaybackSession!) {}
    public func playbackSession(_ session: BCOVPlaybackSession!, didChangeDuration duration: Double) {}
    public func playbackSession(
        _ session: BCOVPlaybackSession!, didChangeExternalPlaybackActive externalPlaybackActive: Bool
    ) {}
    public func playbackSession(_ session: BCOVPlaybackSession!, didPassCuePoints cuePointInfo: [AnyHashable: Any]!) {}
    public func playbackSession(_ session: BCOVPlaybackSession!, didProgressTo progress: Double) {}
    public func didCompletePlaylist(_ playlist: [BCOVVideo]!) {}
    public func playbackSession(
        _ session: BCOVPlaybackSession!, didReceive lifecycleEvent: BCOVPlaybackSessionLifecycleEvent!
    ) {}
    public func playbackSession(_ session: BCOVPlaybackSession!, didChangeSeekableRanges seekableRanges: [Any]!) {}
    public func playbackSession(
        _ session: BCOVPlaybackSession!, determinedMediaType mediaType: BCOVSourceMediaType
    ) {}
}

/// Brightcove's consumers of sessions are of several kinds; the basic one is what there is here.
public typealias BCOVPlaybackSessionConsumer = BCOVPlaybackSessionBasicConsumer
