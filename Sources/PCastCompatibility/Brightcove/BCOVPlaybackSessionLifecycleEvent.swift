public import PCastPlayback

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
