public import PCastJSON

/// The score after an event.
public struct Scorecard: TimelineRecord {
    public var object: JSONObject

    public init(_ object: JSONObject) { self.object = object }

    public var total: Score? {
        get { record("total") }
        set { set("total", newValue) }
    }

    public var goalsByPeriod: [Score]? {
        get { records("goals_by_period") }
        set { set("goals_by_period", newValue) }
    }
}

/// What both teams have, in all or in one period; as text, as the feed has it.
public struct Score: TimelineRecord {
    public var object: JSONObject

    public init(_ object: JSONObject) { self.object = object }

    public var visitor: String? {
        get { text("visitor") }
        set { set("visitor", newValue) }
    }

    public var home: String? {
        get { text("home") }
        set { set("home", newValue) }
    }

    /// Nil in the total.
    public var period: String? {
        get { text("period") }
        set { set("period", newValue) }
    }
}
