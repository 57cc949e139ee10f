/// What happens in the life of a session (Brightcove's lifecycle events).
public enum LifecycleEvent: Hashable, Sendable {
    public enum Failure: Hashable, Sendable {
        /// Nothing could be loaded.
        case loadFailed(String)
        /// Playing broke off, and may be resumed.
        case failedToPlayToEnd(String)
        case noPlayableSource
    }

    /// It can be played. Once.
    case ready
    /// It never will.
    case fail(Failure)
    /// Play was asked for; each time.
    case playRequest
    case pauseRequest
    /// It was set to play, perhaps before it is ready.
    case play
    case pause
    /// There is nothing to show: at the beginning, after a seek, and when media do not come fast enough.
    case bufferEmpty
    /// What was missing is there.
    case likelyToKeepUp
    /// Pictures that moved stand still, because media did not come fast enough.
    case stalled
    case recovered
    case failedToPlayToEndTime(Failure)
    case resumeBegin
    case resumeComplete
    case resumeFail(Failure)
    /// It is played elsewhere from now on, and not here.
    case startCastSession
    case endCastSession
    /// It was played through its end.
    case end
    /// It is over, and nothing comes after this.
    case terminate
}
