import PCastCore
import PCastJSON

/// The JSON schema of a record (Quickplay: Game Info and Game Event). No field is required, and additional fields are
/// permitted. A known field must have its type. All elements of a list have the same type.
///
/// The type of an event is any text, because each sport has its own (``GameEventKind``). A player's role that the
/// schema does not have is `unknown`. Quickplay's schema declares the ID of an event as a date. It identifies the event
/// in the feed, so it is any text here.
struct TimelineSchema: Sendable {
    fileprivate indirect enum Shape: Sendable {
        case text
        case time
        case words([String])
        case list(Shape)
        case record([String: Shape])
    }

    fileprivate let shape: Shape

    /// Validates an object. Throws an error if a field violates the schema.
    func check(_ object: JSONObject) throws(TimelineError) { try Self.check(.object(object), shape, "") }

    /// Validates the value at a path. Throws an error if it violates the schema.
    private static func check(_ value: JSONValue, _ shape: Shape, _ path: String) throws(TimelineError) {
        let field = path.isEmpty ? "the message" : "“\(path)”"
        switch (shape, value) {
        case (.text, .string): return
        case (.time, .string(let text)): guard Timestamp.parse(text) != nil else { throw .notATime(field) }
        case (.words(let words), .string(let text)):
            guard words.contains(text) else { throw .unknownWord(field, text, allowed: words) }
        case (.list(let shape), .array(let values)):
            for (index, value) in values.enumerated() { try check(value, shape, "\(path)[\(index)]") }
        case (.record(let fields), .object(let object)):
            for member in object.members {
                guard let shape = fields[member.name] else { continue }
                try check(member.value, shape, path.isEmpty ? member.name : "\(path).\(member.name)")
            }
        default: throw .wrongType(field, expected: shape.name)
        }
    }

    /// The schema of ``GameInfo``.
    static let gameInfo = TimelineSchema(
        shape: .record([
            "id": .text, "matchNumber": .text, "season": .text, "series": .text, "scheduledStart": .time,
            "timestamp": .time, "venue_id": .text, "venue_name": .text, "game_year": .text,
            "teams": .list(
                .record([
                    "code": .text, "id": .text, "images": .list(.text), "region": .text, "name": .text,
                    "type": .words(TeamSide.known.map(\.rawValue)),
                    "players": .list(
                        .record([
                            "currentTeam": .text, "name": .text, "images": .list(.text), "id": .text, "number": .text,
                            "position": .text,
                        ])),
                ])),
        ]))

    /// The schema of ``GameEvent``.
    static let gameEvent = TimelineSchema(
        shape: .record([
            "description": .text, "id": .text, "teamInvolved": .words(TeamSide.known.map(\.rawValue)),
            "timestamp": .time, "period": .text, "type": .text, "startTime": .time,
            "players": .list(
                .record(["id": .text, "name": .text, "type": .words(EventRole.known.map(\.rawValue))])),
            "scorecard": .record([
                "total": .record(["visitor": .text, "home": .text]),
                "goals_by_period": .list(.record(["visitor": .text, "home": .text, "period": .text])),
            ]),
        ]))
}

extension TimelineSchema.Shape {
    /// The name of the type in errors.
    fileprivate var name: String {
        switch self {
        case .text, .words: "a text"
        case .time: "a string with a time such as 2026-01-31T12:00:00.000Z"
        case .list: "a list"
        case .record: "an object"
        }
    }
}

/// The role of a player in an event, e.g. the scorer.
public struct EventRole: SchemaString {
    /// The name of the role in the feed.
    public let rawValue: String

    /// Creates a role from its name in the feed.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The player who scored.
    public static let scorer = EventRole(rawValue: "scorer")
    /// The player who assisted the scorer.
    public static let assist = EventRole(rawValue: "assist")
    /// The goalie.
    public static let goalie = EventRole(rawValue: "goalie")

    /// The roles in the schema. `unknown` is for all others.
    public static let known = [
        "winner", "loser", "shooter", "goalie", "scorer", "assist", "unknown", "blocker", "hitter", "hittee",
    ].map { EventRole(rawValue: $0) }
}
