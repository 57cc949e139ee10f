public import PCastCore
public import PCastJSON

/// Something that happened in a game (seed 002, Game Event).
public struct GameEvent: TimelineRecord {
    public var object: JSONObject

    public init(_ object: JSONObject) { self.object = object }

    /// - Throws: `TimelineError` for what is too much, no JSON, or not as the schema has it.
    public init(parsing bytes: [UInt8], within limits: TimelineLimits = .standard) throws(TimelineError) {
        object = try JSONObject(parsing: bytes, within: limits)
        try check()
    }

    /// - Throws: `TimelineError` where a field is not as the schema has it.
    public func check() throws(TimelineError) { try TimelineSchema.gameEvent.check(object) }

    public var description: String? {
        get { text("description") }
        set { set("description", newValue) }
    }

    public var id: String? {
        get { text("id") }
        set { set("id", newValue) }
    }

    public var teamInvolved: TeamSide? {
        get { word("teamInvolved") }
        set { set("teamInvolved", newValue) }
    }

    /// When it happened, as it was given (RFC 3339).
    public var timestamp: String? {
        get { text("timestamp") }
        set { set("timestamp", newValue) }
    }

    public var period: String? {
        get { text("period") }
        set { set("period", newValue) }
    }

    public var type: GameEventKind? {
        get { word("type") }
        set { set("type", newValue) }
    }

    public var startTime: String? {
        get { text("startTime") }
        set { set("startTime", newValue) }
    }

    public var players: [EventPlayer]? {
        get { records("players") }
        set { set("players", newValue) }
    }

    public var scorecard: Scorecard? {
        get { record("scorecard") }
        set { set("scorecard", newValue) }
    }

    /// The moment that `timestamp` names; nil where there is none.
    public var moment: WallTime? { timestamp.flatMap { Timestamp.parse($0) } }
}

/// Somebody who had to do with an event.
public struct EventPlayer: TimelineRecord {
    public var object: JSONObject

    public init(_ object: JSONObject) { self.object = object }

    public var id: String? {
        get { text("id") }
        set { set("id", newValue) }
    }

    public var name: String? {
        get { text("name") }
        set { set("name", newValue) }
    }

    public var type: EventRole? {
        get { word("type") }
        set { set("type", newValue) }
    }
}
