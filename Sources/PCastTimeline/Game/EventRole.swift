/// What somebody did in an event.
public struct EventRole: TimelineWord {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public static let scorer = EventRole(rawValue: "scorer")
    public static let assist = EventRole(rawValue: "assist")
    public static let goalie = EventRole(rawValue: "goalie")

    public static let known = [
        "winner", "loser", "shooter", "goalie", "scorer", "assist", "unknown", "blocker", "hitter", "hittee",
    ].map { EventRole(rawValue: $0) }
}
