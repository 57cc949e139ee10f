public import PCastJSON

/// One of a game's teams.
public struct Team: TimelineRecord {
    public var object: JSONObject

    public init(_ object: JSONObject) { self.object = object }

    public var code: String? {
        get { text("code") }
        set { set("code", newValue) }
    }

    public var id: String? {
        get { text("id") }
        set { set("id", newValue) }
    }

    /// Addresses.
    public var images: [String]? {
        get { texts("images") }
        set { set("images", newValue) }
    }

    public var region: String? {
        get { text("region") }
        set { set("region", newValue) }
    }

    public var name: String? {
        get { text("name") }
        set { set("name", newValue) }
    }

    public var type: TeamSide? {
        get { word("type") }
        set { set("type", newValue) }
    }

    public var players: [TeamPlayer]? {
        get { records("players") }
        set { set("players", newValue) }
    }
}

/// Somebody of a team.
public struct TeamPlayer: TimelineRecord {
    public var object: JSONObject

    public init(_ object: JSONObject) { self.object = object }

    public var currentTeam: String? {
        get { text("currentTeam") }
        set { set("currentTeam", newValue) }
    }

    public var name: String? {
        get { text("name") }
        set { set("name", newValue) }
    }

    /// Addresses.
    public var images: [String]? {
        get { texts("images") }
        set { set("images", newValue) }
    }

    public var id: String? {
        get { text("id") }
        set { set("id", newValue) }
    }

    public var number: String? {
        get { text("number") }
        set { set("number", newValue) }
    }

    public var position: String? {
        get { text("position") }
        set { set("position", newValue) }
    }
}
