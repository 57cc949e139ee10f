public import PCastTimeline

/// Why a timeline cannot be followed, and what can be done about it.
public enum TimelineTrouble: Error, Hashable, Sendable {
    /// Nobody answers, or the connection broke: trying again later may help.
    case unreachable(String)
    /// Nothing tells where timelines come from: no source was given, and no stream of a platform is played.
    case noPlatform
    /// The service says no.
    case refused(String)
    /// There is no timeline of the game, or not yet.
    case noGame
    /// What the service says cannot be understood.
    case broken(TimelineError)
    /// It was shut down.
    case over
}

extension TimelineTrouble: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreachable(let reason): "the timeline's service cannot be reached: \(reason)"
        case .noPlatform:
            "no platform is known that has the timeline: play a stream of a platform, or give the timeline its source"
        case .refused(let reason): "the timeline's service refuses: \(reason)"
        case .noGame:
            "there is no timeline of this game, or not yet: are league and game written as the producer writes them?"
        case .broken(let error): "\(error)"
        case .over: "the timeline was shut down: make another"
        }
    }
}
