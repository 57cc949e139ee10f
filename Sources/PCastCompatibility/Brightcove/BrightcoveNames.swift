public import PCastPlayback

// The names of Brightcove's SDK for iOS, as Swift imports them from its public headers (versions 6 and 7). The values
// of its string constants are not public, so the value of each constant is its name.

/// A playback session (Brightcove: `BCOVPlaybackSession`).
public typealias BCOVPlaybackSession = PlaybackSession
/// A video with its sources (Brightcove: `BCOVVideo`).
public typealias BCOVVideo = Video
/// A source of a video (Brightcove: `BCOVSource`).
public typealias BCOVSource = Source
/// A list of videos (Brightcove: `BCOVPlaylist`).
public typealias BCOVPlaylist = Playlist
/// A cue point (Brightcove: `BCOVCuePoint`).
public typealias BCOVCuePoint = CuePoint
/// A collection of cue points (Brightcove: `BCOVCuePointCollection`).
public typealias BCOVCuePointCollection = CuePointCollection
/// The media type of a source: `undetermined`, `audio` or `audioVideo`, with Brightcove's numbers (Brightcove:
/// `BCOVSourceMediaType`).
public typealias BCOVSourceMediaType = SourceMediaType

/// The key of the progress before the cue points, in seconds, as a `Double`.
public let kBCOVPlaybackSessionEventKeyPreviousTime = "kBCOVPlaybackSessionEventKeyPreviousTime"
/// The key of the progress at or directly after the cue points, in seconds, as a `Double`.
public let kBCOVPlaybackSessionEventKeyCurrentTime = "kBCOVPlaybackSessionEventKeyCurrentTime"
/// The key of the cue points, as a ``BCOVCuePointCollection``.
public let kBCOVPlaybackSessionEventKeyCuePoints = "kBCOVPlaybackSessionEventKeyCuePoints"
/// The key of the failure, as a `LifecycleEvent.Failure`.
public let kBCOVPlaybackSessionEventKeyError = "kBCOVPlaybackSessionEventKeyError"

/// The session is ready to play.
public let kBCOVPlaybackSessionLifecycleEventReady = "kBCOVPlaybackSessionLifecycleEventReady"
/// The session has failed.
public let kBCOVPlaybackSessionLifecycleEventFail = "kBCOVPlaybackSessionLifecycleEventFail"
/// Playback has begun.
public let kBCOVPlaybackSessionLifecycleEventPlay = "kBCOVPlaybackSessionLifecycleEventPlay"
/// Playback has paused.
public let kBCOVPlaybackSessionLifecycleEventPause = "kBCOVPlaybackSessionLifecycleEventPause"
/// Playback was requested.
public let kBCOVPlaybackSessionLifecycleEventPlayRequest = "kBCOVPlaybackSessionLifecycleEventPlayRequest"
/// A pause was requested.
public let kBCOVPlaybackSessionLifecycleEventPauseRequest = "kBCOVPlaybackSessionLifecycleEventPauseRequest"
/// Playback has failed before the end of the video.
public let kBCOVPlaybackSessionLifecycleEventFailedToPlayToEndTime =
    "kBCOVPlaybackSessionLifecycleEventFailedToPlayToEndTime"
/// A resume after a failure has begun.
public let kBCOVPlaybackSessionLifecycleEventResumeBegin = "kBCOVPlaybackSessionLifecycleEventResumeBegin"
/// A resume after a failure has succeeded.
public let kBCOVPlaybackSessionLifecycleEventResumeComplete = "kBCOVPlaybackSessionLifecycleEventResumeComplete"
/// A resume after a failure has failed.
public let kBCOVPlaybackSessionLifecycleEventResumeFail = "kBCOVPlaybackSessionLifecycleEventResumeFail"
/// Playback has reached the end of the video.
public let kBCOVPlaybackSessionLifecycleEventEnd = "kBCOVPlaybackSessionLifecycleEventEnd"
/// Playback has stalled.
public let kBCOVPlaybackSessionLifecycleEventPlaybackStalled = "kBCOVPlaybackSessionLifecycleEventPlaybackStalled"
/// Playback has recovered from a stall.
public let kBCOVPlaybackSessionLifecycleEventPlaybackRecovered = "kBCOVPlaybackSessionLifecycleEventPlaybackRecovered"
/// The playback buffer is empty.
public let kBCOVPlaybackSessionLifecycleEventPlaybackBufferEmpty =
    "kBCOVPlaybackSessionLifecycleEventPlaybackBufferEmpty"
/// The playback buffer is likely to suffice.
public let kBCOVPlaybackSessionLifecycleEventPlaybackLikelyToKeepUp =
    "kBCOVPlaybackSessionLifecycleEventPlaybackLikelyToKeepUp"
/// The session has ended.
public let kBCOVPlaybackSessionLifecycleEventTerminate = "kBCOVPlaybackSessionLifecycleEventTerminate"
/// Casting to another device has begun.
public let kBCOVPlaybackSessionLifecycleEventStartCastSession = "kBCOVPlaybackSessionLifecycleEventStartCastSession"
/// Casting to another device has ended.
public let kBCOVPlaybackSessionLifecycleEventEndCastSession = "kBCOVPlaybackSessionLifecycleEventEndCastSession"
