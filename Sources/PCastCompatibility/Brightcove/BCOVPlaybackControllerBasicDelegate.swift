public import PCastPlayback

/// Receives the events of a controller's sessions from the time at which it is set (Brightcove:
/// `BCOVPlaybackControllerBasicDelegate`).
///
/// All functions are optional. Times are in seconds, and the progress is infinite at both ends. Calls are sequential,
/// but on no particular thread.
public protocol BCOVPlaybackControllerBasicDelegate: AnyObject {
    /// The controller has advanced to a session.
    func playbackController(_ controller: BCOVPlaybackController!, didAdvanceTo session: BCOVPlaybackSession!)

    /// The duration has changed. It is infinite for live media without a known end.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeDuration duration: Double)

    /// The external playback status has changed. The present status follows when the delegate is set.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeExternalPlaybackActive externalPlaybackActive: Bool)

    /// Playback has passed cue points. The keys of the dictionary are `kBCOVPlaybackSessionEventKey…`. Cue points from
    /// before the delegate was set are not reported.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didPassCuePoints cuePointInfo: [AnyHashable: Any]!)

    /// Playback has progressed. Progress from before the delegate was set is not reported.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didProgressTo progress: Double)

    /// The last video of the playlist has ended.
    func playbackController(_ controller: BCOVPlaybackController!, didCompletePlaylist playlist: [BCOVVideo]!)

    /// A lifecycle event has occurred. Events from before the delegate was set are not reported.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didReceive lifecycleEvent: BCOVPlaybackSessionLifecycleEvent!)

    /// The seekable ranges have changed. Each is a `ClosedRange<Double>` where Brightcove has a `CMTimeRange`.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeSeekableRanges seekableRanges: [Any]!)

    /// The media type of the session is known.
    func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        determinedMediaType mediaType: BCOVSourceMediaType)
}

extension BCOVPlaybackControllerBasicDelegate {
    /// Does nothing by default.
    public func playbackController(_ controller: BCOVPlaybackController!, didAdvanceTo session: BCOVPlaybackSession!) {}
    /// Does nothing by default.
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeDuration duration: Double
    ) {}
    /// Does nothing by default.
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeExternalPlaybackActive externalPlaybackActive: Bool
    ) {}
    /// Does nothing by default.
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didPassCuePoints cuePointInfo: [AnyHashable: Any]!
    ) {}
    /// Does nothing by default.
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didProgressTo progress: Double
    ) {}
    /// Does nothing by default.
    public func playbackController(_ controller: BCOVPlaybackController!, didCompletePlaylist playlist: [BCOVVideo]!) {}
    /// Does nothing by default.
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didReceive lifecycleEvent: BCOVPlaybackSessionLifecycleEvent!
    ) {}
    /// Does nothing by default.
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        didChangeSeekableRanges seekableRanges: [Any]!
    ) {}
    /// Does nothing by default.
    public func playbackController(
        _ controller: BCOVPlaybackController!, playbackSession session: BCOVPlaybackSession!,
        determinedMediaType mediaType: BCOVSourceMediaType
    ) {}
}

/// The delegate of a controller. Brightcove's consists of several protocols, of which this library has the basic one.
public typealias BCOVPlaybackControllerDelegate = BCOVPlaybackControllerBasicDelegate
