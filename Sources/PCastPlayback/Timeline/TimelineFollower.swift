import PCastCore
public import PCastTimeline

/// Reports the position of a player to a timeline: each displayed frame, in order.
final class TimelineFollower: PlayerEventListener {
    private weak let timeline: GameTimeline?

    /// Creates a follower.
    init(_ timeline: GameTimeline) { self.timeline = timeline }

    /// Handles an event of the player.
    func handle(_ event: PlayerEvent) {
        guard let timeline, let session = event.session else { return }
        switch event.kind {
        case .videoChanged: timeline.advanced(to: session, in: event.epoch)
        // The frame itself counts, because playback may advance from it only after some time.
        case .arrived(let position), .progressed(.at(let position)):
            timeline.shown(position, of: session, in: event.epoch)
        // Anchors of wall-clock time may have arrived with the ranges.
        case .seekableRangesChanged: timeline.updateClock(of: session)
        case .lifecycle(.terminate): timeline.ended(session)
        default: break
        }
    }
}

/// A service that provides timelines.
public protocol TimelineSource: Sendable {
    /// Returns whether the service has a timeline of the game. Throws a ``TimelineFollowError`` if that is unknown.
    func exists(_ game: TimelineGame) async throws(TimelineFollowError) -> Bool

    /// Follows a game until its connection ends, and passes each message to `take`, in order. The messages begin after
    /// `since` if the service still has the log `log`. If `take` throws, the connection ends. Throws a
    /// ``TimelineFollowError``, or the error of `take`.
    func follow(
        _ game: TimelineGame, since: SequenceNumber, of log: TimelineLogID?,
        _ take: @escaping @Sendable (TimelineMessage) throws -> Void
    ) async throws
}

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
