public import PCastCore
public import PCastJSON

/// An event of a game (Quickplay: Game Event).
public struct GameEvent: TimelineRecord {
    /// The event as a JSON object.
    public var object: JSONObject

    /// Creates an event from a JSON object, without validation.
    public init(_ object: JSONObject) { self.object = object }

    /// Parses and validates an event. Throws ``TimelineError`` if it is not JSON, exceeds the limits or violates the
    /// schema.
    public init(parsing bytes: [UInt8], within limits: TimelineLimits = .standard) throws(TimelineError) {
        object = try JSONObject(parsing: bytes, within: limits)
        try check()
    }

    /// Validates the event. Throws ``TimelineError`` if a field violates the schema.
    public func check() throws(TimelineError) { try TimelineSchema.gameEvent.check(object) }

    /// The description of the event for people; nil if there is none.
    public var description: String? {
        get { text("description") }
        set { set("description", newValue) }
    }

    /// The ID of the event; nil if there is none.
    public var id: String? {
        get { text("id") }
        set { set("id", newValue) }
    }

    /// The team of the event; nil if there is none.
    public var teamInvolved: TeamSide? {
        get { word("teamInvolved") }
        set { set("teamInvolved", newValue) }
    }

    /// The time at which the event happened, as text (RFC 3339); nil if there is none.
    public var timestamp: String? {
        get { text("timestamp") }
        set { set("timestamp", newValue) }
    }

    /// The period of the game; nil if there is none.
    public var period: String? {
        get { text("period") }
        set { set("period", newValue) }
    }

    /// The type of the event; nil if there is none.
    public var type: GameEventKind? {
        get { word("type") }
        set { set("type", newValue) }
    }

    /// The start time, as text (RFC 3339); nil if there is none.
    public var startTime: String? {
        get { text("startTime") }
        set { set("startTime", newValue) }
    }

    /// The players of the event; nil if there are none.
    public var players: [EventPlayer]? {
        get { records("players") }
        set { set("players", newValue) }
    }

    /// The score after the event; nil if there is none.
    public var scorecard: Scorecard? {
        get { record("scorecard") }
        set { set("scorecard", newValue) }
    }

    /// The time at which the event happened; nil if `timestamp` is missing or is not a time.
    public var moment: WallTime? { timestamp.flatMap { Timestamp.parse($0) } }
}

/// A player who took part in an event.
public struct EventPlayer: TimelineRecord {
    /// The player as a JSON object.
    public var object: JSONObject

    /// Creates a player from a JSON object, without validation.
    public init(_ object: JSONObject) { self.object = object }

    /// The ID of the player; nil if there is none.
    public var id: String? {
        get { text("id") }
        set { set("id", newValue) }
    }

    /// The name of the player; nil if there is none.
    public var name: String? {
        get { text("name") }
        set { set("name", newValue) }
    }

    /// The role of the player in the event; nil if there is none.
    public var type: EventRole? {
        get { word("type") }
        set { set("type", newValue) }
    }
}

/// The type of an event by its name in the feed, which is any text.
///
/// The names in the schema, which are of ice hockey, are constants here. A feed of another sport has its own names,
/// e.g. `three_pointer` or `wicket`.
public struct GameEventKind: SchemaString {
    /// The name of the type in the feed.
    public let rawValue: String

    /// Creates a type from its name in the feed.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The start of a period.
    public static let periodStart = GameEventKind(rawValue: "period_start")
    /// The end of a period.
    public static let periodEnd = GameEventKind(rawValue: "period_end")
    /// The start of overtime.
    public static let overtimeStart = GameEventKind(rawValue: "overtime_start")
    /// The end of overtime.
    public static let overtimeEnd = GameEventKind(rawValue: "overtime_end")
    /// The start of a shootout.
    public static let shootoutStart = GameEventKind(rawValue: "shootout_start")
    /// The end of a shootout.
    public static let shootoutEnd = GameEventKind(rawValue: "shootout_end")
    /// The start of a break.
    public static let breakStart = GameEventKind(rawValue: "break_start")
    /// The end of a break.
    public static let breakEnd = GameEventKind(rawValue: "break_end")
    /// A goal.
    public static let goal = GameEventKind(rawValue: "goal")
    /// A penalty.
    public static let penalty = GameEventKind(rawValue: "penalty")
    /// A penalty shot.
    public static let penaltyShot = GameEventKind(rawValue: "penalty_shot")

    /// The types in the schema.
    public static let known = [
        periodStart, periodEnd, overtimeStart, overtimeEnd, shootoutStart, shootoutEnd, breakStart, breakEnd, goal,
        penalty, penaltyShot,
    ]
}

/// The score after an event.
public struct Scorecard: TimelineRecord {
    /// The score as a JSON object.
    public var object: JSONObject

    /// Creates a score from a JSON object, without validation.
    public init(_ object: JSONObject) { self.object = object }

    /// The total score; nil if there is none.
    public var total: Score? {
        get { record("total") }
        set { set("total", newValue) }
    }

    /// The scores of the periods; nil if there are none.
    public var goalsByPeriod: [Score]? {
        get { records("goals_by_period") }
        set { set("goals_by_period", newValue) }
    }
}

/// The score of both teams, either in total or in one period. The values are text, as in the feed.
public struct Score: TimelineRecord {
    /// The score as a JSON object.
    public var object: JSONObject

    /// Creates a score from a JSON object, without validation.
    public init(_ object: JSONObject) { self.object = object }

    /// The score of the visitors; nil if there is none.
    public var visitor: String? {
        get { text("visitor") }
        set { set("visitor", newValue) }
    }

    /// The score of the home team; nil if there is none.
    public var home: String? {
        get { text("home") }
        set { set("home", newValue) }
    }

    /// The period; nil in the total.
    public var period: String? {
        get { text("period") }
        set { set("period", newValue) }
    }
}
