public import PCastCore
public import PCastJSON

/// The description of a game: the teams, the venue and the time (Quickplay: Game Info).
public struct GameInfo: TimelineRecord {
    /// The description as a JSON object.
    public var object: JSONObject

    /// Creates a description from a JSON object, without validation.
    public init(_ object: JSONObject) { self.object = object }

    /// Parses and validates a description. Throws ``TimelineError`` if it is not JSON, exceeds the limits or violates
    /// the schema.
    public init(parsing bytes: [UInt8], within limits: TimelineLimits = .standard) throws(TimelineError) {
        object = try JSONObject(parsing: bytes, within: limits)
        try check()
    }

    /// Validates the description. Throws ``TimelineError`` if a field violates the schema.
    public func check() throws(TimelineError) { try TimelineSchema.gameInfo.check(object) }

    /// The ID of the game; nil if there is none.
    public var id: String? {
        get { text("id") }
        set { set("id", newValue) }
    }

    /// The number of the match; nil if there is none.
    public var matchNumber: String? {
        get { text("matchNumber") }
        set { set("matchNumber", newValue) }
    }

    /// The season; nil if there is none.
    public var season: String? {
        get { text("season") }
        set { set("season", newValue) }
    }

    /// The series; nil if there is none.
    public var series: String? {
        get { text("series") }
        set { set("series", newValue) }
    }

    /// The scheduled start, as text (RFC 3339); nil if there is none.
    public var scheduledStart: String? {
        get { text("scheduledStart") }
        set { set("scheduledStart", newValue) }
    }

    /// The time from which the description applies, as text (RFC 3339); nil if there is none.
    public var timestamp: String? {
        get { text("timestamp") }
        set { set("timestamp", newValue) }
    }

    /// The ID of the venue; nil if there is none.
    public var venueID: String? {
        get { text("venue_id") }
        set { set("venue_id", newValue) }
    }

    /// The name of the venue; nil if there is none.
    public var venueName: String? {
        get { text("venue_name") }
        set { set("venue_name", newValue) }
    }

    /// The year of the game; nil if there is none.
    public var gameYear: String? {
        get { text("game_year") }
        set { set("game_year", newValue) }
    }

    /// The teams; nil if there are none.
    public var teams: [Team]? {
        get { records("teams") }
        set { set("teams", newValue) }
    }

    /// The time from which the description applies; nil if `timestamp` is missing or is not a time.
    public var moment: WallTime? { timestamp.flatMap { Timestamp.parse($0) } }
}

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

/// A team of a game.
public struct Team: TimelineRecord {
    /// The team as a JSON object.
    public var object: JSONObject

    /// Creates a team from a JSON object, without validation.
    public init(_ object: JSONObject) { self.object = object }

    /// The short code of the team; nil if there is none.
    public var code: String? {
        get { text("code") }
        set { set("code", newValue) }
    }

    /// The ID of the team; nil if there is none.
    public var id: String? {
        get { text("id") }
        set { set("id", newValue) }
    }

    /// The URIs of images; nil if there are none.
    public var images: [String]? {
        get { texts("images") }
        set { set("images", newValue) }
    }

    /// The region of the team; nil if there is none.
    public var region: String? {
        get { text("region") }
        set { set("region", newValue) }
    }

    /// The name of the team; nil if there is none.
    public var name: String? {
        get { text("name") }
        set { set("name", newValue) }
    }

    /// The side of the team, home or visitor; nil if there is none.
    public var type: TeamSide? {
        get { word("type") }
        set { set("type", newValue) }
    }

    /// The players of the team; nil if there are none.
    public var players: [TeamPlayer]? {
        get { records("players") }
        set { set("players", newValue) }
    }
}

/// A player of a team.
public struct TeamPlayer: TimelineRecord {
    /// The player as a JSON object.
    public var object: JSONObject

    /// Creates a player from a JSON object, without validation.
    public init(_ object: JSONObject) { self.object = object }

    /// The present team of the player; nil if there is none.
    public var currentTeam: String? {
        get { text("currentTeam") }
        set { set("currentTeam", newValue) }
    }

    /// The name of the player; nil if there is none.
    public var name: String? {
        get { text("name") }
        set { set("name", newValue) }
    }

    /// The URIs of images; nil if there are none.
    public var images: [String]? {
        get { texts("images") }
        set { set("images", newValue) }
    }

    /// The ID of the player; nil if there is none.
    public var id: String? {
        get { text("id") }
        set { set("id", newValue) }
    }

    /// The number of the player; nil if there is none.
    public var number: String? {
        get { text("number") }
        set { set("number", newValue) }
    }

    /// The position of the player; nil if there is none.
    public var position: String? {
        get { text("position") }
        set { set("position", newValue) }
    }
}
