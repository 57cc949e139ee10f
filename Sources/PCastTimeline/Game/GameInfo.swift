public import PCastCore
public import PCastJSON

/// What a game is: who plays where and when (seed 002, Game Info).
public struct GameInfo: TimelineRecord {
    public var object: JSONObject

    public init(_ object: JSONObject) { self.object = object }

    /// - Throws: `TimelineError` for what is too much, no JSON, or not as the schema has it.
    public init(parsing bytes: [UInt8], within limits: TimelineLimits = .standard) throws(TimelineError) {
        object = try JSONObject(parsing: bytes, within: limits)
        try check()
    }

    /// - Throws: `TimelineError` where a field is not as the schema has it.
    public func check() throws(TimelineError) { try TimelineSchema.gameInfo.check(object) }

    public var id: String? {
        get { text("id") }
        set { set("id", newValue) }
    }

    public var matchNumber: String? {
        get { text("matchNumber") }
        set { set("matchNumber", newValue) }
    }

    public var season: String? {
        get { text("season") }
        set { set("season", newValue) }
    }

    public var series: String? {
        get { text("series") }
        set { set("series", newValue) }
    }

    public var scheduledStart: String? {
        get { text("scheduledStart") }
        set { set("scheduledStart", newValue) }
    }

    /// When this was so, as it was given (RFC 3339).
    public var timestamp: String? {
        get { text("timestamp") }
        set { set("timestamp", newValue) }
    }

    public var venueID: String? {
        get { text("venue_id") }
        set { set("venue_id", newValue) }
    }

    public var venueName: String? {
        get { text("venue_name") }
        set { set("venue_name", newValue) }
    }

    public var gameYear: String? {
        get { text("game_year") }
        set { set("game_year", newValue) }
    }

    public var teams: [Team]? {
        get { records("teams") }
        set { set("teams", newValue) }
    }

    /// The moment that `timestamp` names; nil where there is none.
    public var moment: WallTime? { timestamp.flatMap { Timestamp.parse($0) } }
}
