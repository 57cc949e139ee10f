public import PCastTimeline

/// A reason why a timeline cannot be followed.
public enum TimelineFollowError: Error, Hashable, Sendable {
    /// The service does not respond, or the connection broke. A later retry may succeed.
    case unreachable(String)
    /// The timeline has no source, and the player does not play a stream of a platform.
    case noPlatform
    /// The service rejects the request, for the reason given.
    case refused(String)
    /// The service has no timeline of the game, perhaps not yet.
    case noGame
    /// The service sent a message that is not valid, or the name of the game is not valid.
    case broken(TimelineError)
    /// The timeline was shut down.
    case over
}

extension TimelineFollowError: CustomStringConvertible {
    /// The reason, for people, with what to do.
    public var description: String {
        switch self {
        case .unreachable(let reason): "the timeline service cannot be reached: \(reason)"
        case .noPlatform:
            "the timeline's platform is unknown: play a stream of a platform, or set the timeline's source"
        case .refused(let reason): "the timeline service rejected the request: \(reason)"
        case .noGame:
            "the game has no timeline, or not yet: check that league and game are written as by the producer"
        case .broken(let error): "\(error)"
        case .over: "the timeline was shut down: create another one"
        }
    }
}
