public import PCastPlayback

/// What happens in the life of a session (Brightcove: `BCOVPlaybackSessionLifecycleEvent`).
public struct BCOVPlaybackSessionLifecycleEvent: Sendable {
    public let event: LifecycleEvent

    /// A name such as ``kBCOVPlaybackSessionLifecycleEventReady``.
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

    /// The failure under ``kBCOVPlaybackSessionEventKeyError``, of events that are one.
    public var properties: [AnyHashable: Any]! {
        switch event {
        case .fail(let failure), .failedToPlayToEndTime(let failure), .resumeFail(let failure):
            [kBCOVPlaybackSessionEventKeyError: failure]
        default: [:]
        }
    }
}
