/// An event in the lifecycle of a session (Brightcove's `BCOVPlaybackSessionLifecycleEvent`).
public enum LifecycleEvent: Hashable, Sendable {
    /// The reason for a failure.
    public enum Failure: Hashable, Sendable {
        /// The media was not loaded, for the reason given.
        case loadFailed(String)
        /// Playback failed in the middle, for the reason given. It can be resumed.
        case failedToPlayToEnd(String)
        /// The video has no source that can be played.
        case noPlayableSource
    }

    /// The session can be played. It occurs once.
    case ready
    /// The session failed before it was ready.
    case fail(Failure)
    /// Playback was requested. It occurs for each request.
    case playRequest
    /// A pause was requested. It occurs for each request.
    case pauseRequest
    /// The session changed to playing, perhaps before it is ready.
    case play
    /// The session changed to paused.
    case pause
    /// There is no frame to display: at the beginning, after a seek, and when media arrives too slowly.
    case bufferEmpty
    /// Enough media has arrived for playback.
    case likelyToKeepUp
    /// Playback stopped because media arrived too slowly.
    case stalled
    /// Playback resumed after a stall.
    case recovered
    /// Playback failed after the session was ready.
    case failedToPlayToEndTime(Failure)
    /// Loading restarted after a failure.
    case resumeBegin
    /// The restart after a failure succeeded.
    case resumeComplete
    /// The restart after a failure failed.
    case resumeFail(Failure)
    /// External playback began, and local playback is silent.
    case startCastSession
    /// External playback ended.
    case endCastSession
    /// The session was played to its end.
    case end
    /// The session is over. No event follows.
    case terminate
}
