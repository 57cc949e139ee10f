public import PCastTimeline

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
