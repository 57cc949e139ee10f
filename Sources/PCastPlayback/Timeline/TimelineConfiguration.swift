/// Which game's timeline, and how (seed 002, `StreamTimelineConfiguration`).
public struct TimelineConfiguration: Hashable, Sendable {
    /// Capitals count.
    public var leagueName: String
    public var gameId: String
    /// Whether events are told as soon as they are known, and not as the playhead comes to them.
    public var spoiler: Bool

    public init(leagueName: String, gameId: String, spoiler: Bool = false) {
        (self.leagueName, self.gameId, self.spoiler) = (leagueName, gameId, spoiler)
    }
}
