public import PCastPlayback

/// Receives what happens to the sessions of a controller from the moment at which it is set (Brightcove:
/// `BCOVPlaybackControllerBasicDelegate`). Everything is optional. Times are in seconds; progress is infinite at both ends. Called
/// from one thread at a time, which is no thread in particular.
public protocol BCOVPlaybackControllerBasicDelegate: AnyObject {
    func playbackController(_ controller: BCOVPlaybackController!, didAdvanceTo session: BCOVPlaybackSession!)

    /// Infinite for live media, of which no end is known.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeDuration duration: Double)

    /// Called with the current status when the delegate is set.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeExternalPlaybackActive externalPlaybackActive: Bool)

    /// Cue points that were passed before the delegate was set are not reported.
    ///
    /// - Parameter cuePointInfo: by `kBCOVPlaybackSessionEventKey…`.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didPassCuePoints cuePointInfo: [AnyHashable: Any]!)

    /// Progress that was made before the delegate was set is not reported.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didProgressTo progress: Double)

    func playbackController(_ controller: BCOVPlaybackController!, didCompletePlaylist playlist: [BCOVVideo]!)

    /// Events that occurred before the delegate was set are not reported.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didReceive lifecycleEvent: BCOVPlaybackSessionLifecycleEvent!)

    /// - Parameter seekableRanges: each a `ClosedRange<Double>`, where Brightcove has a `CMTimeRange`.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeSeekableRanges seekableRanges: [Any]!)

    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        determinedMediaType mediaType: BCOVSourceMediaType)
}

extension BCOVPlaybackControllerBasicDelegate {
    public func playbackController(_ controller: BCOVPlaybackController!, didAdvanceTo session: BCOVPlaybackSession!) {}
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeDuration duration: Double
    ) {}
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeExternalPlaybackActive externalPlaybackActive: Bool
    ) {}
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didPassCuePoints cuePointInfo: [AnyHashable: Any]!
    ) {}
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didProgressTo progress: Double
    ) {}
    public func playbackController(_ controller: BCOVPlaybackController!, didCompletePlaylist playlist: [BCOVVideo]!) {}
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didReceive lifecycleEvent: BCOVPlaybackSessionLifecycleEvent!
    ) {}
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeSeekableRanges seekableRanges: [Any]!
    ) {}
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        determinedMediaType mediaType: BCOVSourceMediaType
    ) {}
}

/// Brightcove's delegate has several parts; the basic one is what there is here.
public typealias BCOVPlaybackControllerDelegate = BCOVPlaybackControllerBasicDelegate
