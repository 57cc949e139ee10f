import PCast
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

/// An event in the lifecycle of a session (Brightcove: `BCOVPlaybackSessionLifecycleEvent`).
public struct BCOVPlaybackSessionLifecycleEvent: Sendable {
    /// The event of `PCastPlayback`.
    public let event: LifecycleEvent

    /// The type of the event, e.g. ``kBCOVPlaybackSessionLifecycleEventReady``.
    public var eventType: String! {
        switch event {
        case .ready: kBCOVPlaybackSessionLifecycleEventReady
        case .fail: kBCOVPlaybackSessionLifecycleEventFail
        case .playRequest: kBCOVPlaybackSessionLifecycleEventPlayRequest
        case .pauseRequest: kBCOVPlaybackSessionLifecycleEventPauseRequest
        case .play: kBCOVPlaybackSessionLifecycleEventPlay
        case .pause: kBCOVPlaybackSessionLifecycleEventPause
        case .bufferEmpty: kBCOVPlaybackSessionLifecycleEventPlaybackBufferEmpty
        case .likelyToKeepUp: kBCOVPlaybackSessionLifecycleEventPlaybackLikelyToKeepUp
        case .stalled: kBCOVPlaybackSessionLifecycleEventPlaybackStalled
        case .recovered: kBCOVPlaybackSessionLifecycleEventPlaybackRecovered
        case .failedToPlayToEndTime: kBCOVPlaybackSessionLifecycleEventFailedToPlayToEndTime
        case .resumeBegin: kBCOVPlaybackSessionLifecycleEventResumeBegin
        case .resumeComplete: kBCOVPlaybackSessionLifecycleEventResumeComplete
        case .resumeFail: kBCOVPlaybackSessionLifecycleEventResumeFail
        case .startCastSession: kBCOVPlaybackSessionLifecycleEventStartCastSession
        case .endCastSession: kBCOVPlaybackSessionLifecycleEventEndCastSession
        case .end: kBCOVPlaybackSessionLifecycleEventEnd
        case .terminate: kBCOVPlaybackSessionLifecycleEventTerminate
        }
    }

    /// The details of the event. A failure is under ``kBCOVPlaybackSessionEventKeyError``.
    public var properties: [AnyHashable: Any]! {
        switch event {
        case .fail(let failure), .failedToPlayToEndTime(let failure), .resumeFail(let failure):
            [kBCOVPlaybackSessionEventKeyError: failure]
        default: [:]
        }
    }
}

/// Forwards events to a consumer with Brightcove's functions. Consumers are called sequentially, which makes the
/// unchecked property safe.
final class BasicConsumerAdapter: PlaybackSessionConsumer {
    nonisolated(unsafe) private let consumer: any BCOVPlaybackSessionBasicConsumer

    init(_ consumer: any BCOVPlaybackSessionBasicConsumer) { self.consumer = consumer }

    func didAdvance(to session: PlaybackSession) { consumer.didAdvance(to: session) }

    func session(_ session: PlaybackSession, didChangeDuration duration: Duration?) {
        consumer.playbackSession(session, didChangeDuration: duration?.seconds ?? .infinity)
    }

    func session(_ session: PlaybackSession, didChangeExternalPlaybackActive isActive: Bool) {
        consumer.playbackSession(session, didChangeExternalPlaybackActive: isActive)
    }

    func session(_ session: PlaybackSession, didPass cuePoints: CuePointPassage) {
        consumer.playbackSession(
            session,
            didPassCuePoints: [
                kBCOVPlaybackSessionEventKeyPreviousTime: cuePoints.previous.seconds,
                kBCOVPlaybackSessionEventKeyCurrentTime: cuePoints.current.seconds,
                kBCOVPlaybackSessionEventKeyCuePoints: cuePoints.cuePoints,
            ])
    }

    func session(_ session: PlaybackSession, didProgressTo progress: PlaybackProgress) {
        consumer.playbackSession(session, didProgressTo: progress.seconds)
    }

    func session(_ session: PlaybackSession, didReceive lifecycleEvent: LifecycleEvent) {
        consumer.playbackSession(session, didReceive: BCOVPlaybackSessionLifecycleEvent(event: lifecycleEvent))
    }

    func session(_ session: PlaybackSession, didChangeSeekableRanges seekableRanges: [ClosedRange<Duration>]) {
        consumer.playbackSession(
            session, didChangeSeekableRanges: seekableRanges.map { $0.lowerBound.seconds...$0.upperBound.seconds })
    }

    func session(_ session: PlaybackSession, determinedMediaType mediaType: SourceMediaType) {
        consumer.playbackSession(session, determinedMediaType: mediaType)
    }

    func didCompletePlaylist(_ playlist: [Video]) { consumer.didCompletePlaylist(playlist) }
}
