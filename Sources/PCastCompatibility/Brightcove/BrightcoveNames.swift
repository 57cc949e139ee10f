public import PCastPlayback

// What Brightcove's SDK for iOS calls it, as Swift sees those names (seed 003; its public headers, v6 and v7). The values of
// its string constants are published nowhere: here each is its own name.

public typealias BCOVPlaybackSession = PlaybackSession
public typealias BCOVVideo = Video
public typealias BCOVSource = Source
public typealias BCOVPlaylist = Playlist
public typealias BCOVCuePoint = CuePoint
public typealias BCOVCuePointCollection = CuePointCollection
/// `undetermined`, `audio`, `audioVideo`, with its numbers.
public typealias BCOVSourceMediaType = SourceMediaType

/// The progress before the cue points, in seconds, as a `Double`.
public let kBCOVPlaybackSessionEventKeyPreviousTime = "kBCOVPlaybackSessionEventKeyPreviousTime"
/// The progress on or immediately after the cue points, in seconds, as a `Double`.
public let kBCOVPlaybackSessionEventKeyCurrentTime = "kBCOVPlaybackSessionEventKeyCurrentTime"
/// A ``BCOVCuePointCollection``.
public let kBCOVPlaybackSessionEventKeyCuePoints = "kBCOVPlaybackSessionEventKeyCuePoints"
/// What went wrong, as a `LifecycleEvent.Failure`.
public let kBCOVPlaybackSessionEventKeyError = "kBCOVPlaybackSessionEventKeyError"

public let kBCOVPlaybackSessionLifecycleEventReady = "kBCOVPlaybackSessionLifecycleEventReady"
public let kBCOVPlaybackSessionLifecycleEventFail = "kBCOVPlaybackSessionLifecycleEventFail"
public let kBCOVPlaybackSessionLifecycleEventPlay = "kBCOVPlaybackSessionLifecycleEventPlay"
public let kBCOVPlaybackSessionLifecycleEventPause = "kBCOVPlaybackSessionLifecycleEventPause"
public let kBCOVPlaybackSessionLifecycleEventPlayRequest = "kBCOVPlaybackSessionLifecycleEventPlayRequest"
public let kBCOVPlaybackSessionLifecycleEventPauseRequest = "kBCOVPlaybackSessionLifecycleEventPauseRequest"
public let kBCOVPlaybackSessionLifecycleEventFailedToPlayToEndTime =
    "kBCOVPlaybackSessionLifecycleEventFailedToPlayToEndTime"
public let kBCOVPlaybackSessionLifecycleEventResumeBegin = "kBCOVPlaybackSessionLifecycleEventResumeBegin"
public let kBCOVPlaybackSessionLifecycleEventResumeComplete = "kBCOVPlaybackSessionLifecycleEventResumeComplete"
public let kBCOVPlaybackSessionLifecycleEventResumeFail = "kBCOVPlaybackSessionLifecycleEventResumeFail"
public let kBCOVPlaybackSessionLifecycleEventEnd = "kBCOVPlaybackSessionLifecycleEventEnd"
public let kBCOVPlaybackSessionLifecycleEventPlaybackStalled = "kBCOVPlaybackSessionLifecycleEventPlaybackStalled"
public let kBCOVPlaybackSessionLifecycleEventPlaybackRecovered = "kBCOVPlaybackSessionLifecycleEventPlaybackRecovered"
public let kBCOVPlaybackSessionLifecycleEventPlaybackBufferEmpty =
    "kBCOVPlaybackSessionLifecycleEventPlaybackBufferEmpty"
public let kBCOVPlaybackSessionLifecycleEventPlaybackLikelyToKeepUp =
    "kBCOVPlaybackSessionLifecycleEventPlaybackLikelyToKeepUp"
public let kBCOVPlaybackSessionLifecycleEventTerminate = "kBCOVPlaybackSessionLifecycleEventTerminate"
public let kBCOVPlaybackSessionLifecycleEventStartCastSession = "kBCOVPlaybackSessionLifecycleEventStartCastSession"
public let kBCOVPlaybackSessionLifecycleEventEndCastSession = "kBCOVPlaybackSessionLifecycleEventEndCastSession"
