/// Which of a game's two teams.
public struct TeamSide: TimelineWord {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public static let home = TeamSide(rawValue: "home")
    public static let visitor = TeamSide(rawValue: "visitor")

    public static let known = [home, visitor]
}
