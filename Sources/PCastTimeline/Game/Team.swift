public import PCastJSON

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
