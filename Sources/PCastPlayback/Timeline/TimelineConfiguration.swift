/// The game of a timeline, and the mode of release (Quickplay's `StreamTimelineConfiguration`).
public struct TimelineConfiguration: Hashable, Sendable {
    /// The name of the league, which is case-sensitive.
    public var leagueName: String
    /// The ID of the game in the league.
    public var gameId: String
    /// Whether events are released as soon as they arrive, instead of when the playhead reaches their times.
    public var spoiler: Bool

    /// Creates a configuration.
    public init(leagueName: String, gameId: String, spoiler: Bool = false) {
        (self.leagueName, self.gameId, self.spoiler) = (leagueName, gameId, spoiler)
    }
}
