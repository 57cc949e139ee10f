/// The side of a team in a game.
public struct TeamSide: SchemaString {
    /// The name of the side in the feed.
    public let rawValue: String

    /// Creates a side from its name in the feed.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The home team.
    public static let home = TeamSide(rawValue: "home")
    /// The visitors.
    public static let visitor = TeamSide(rawValue: "visitor")

    /// The sides in the schema.
    public static let known = [home, visitor]
}
