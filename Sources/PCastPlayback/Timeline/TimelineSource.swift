public import PCastTimeline

/// Where timelines come from.
public protocol TimelineSource: Sendable {
    /// Whether there is one of the game.
    func exists(_ game: TimelineGame) async throws(TimelineTrouble) -> Bool

    /// Hands on what is said of a game, in its order, as long as the connection to it lasts.
    ///
    /// - Parameters:
    ///   - since: what is had already, of the log that is named.
    ///   - take: throws to end the connection.
    /// - Throws: a ``TimelineTrouble``, or what `take` throws.
    func follow(
        _ game: TimelineGame, since: SequenceNumber, of log: TimelineLogID?,
        _ take: @escaping @Sendable (TimelineMessage) throws -> Void
    ) async throws
}
