public import PCastJSON

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
