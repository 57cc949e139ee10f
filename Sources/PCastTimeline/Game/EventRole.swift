/// The role of a player in an event, e.g. the scorer.
public struct EventRole: SchemaString {
    /// The name of the role in the feed.
    public let rawValue: String

    /// Creates a role from its name in the feed.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The player who scored.
    public static let scorer = EventRole(rawValue: "scorer")
    /// The player who assisted the scorer.
    public static let assist = EventRole(rawValue: "assist")
    /// The goalie.
    public static let goalie = EventRole(rawValue: "goalie")

    /// The roles in the schema. `unknown` is for all others.
    public static let known = [
        "winner", "loser", "shooter", "goalie", "scorer", "assist", "unknown", "blocker", "hitter", "hittee",
    ].map { EventRole(rawValue: $0) }
}
