import PCastCore
import PCastJSON
import PCastOverlay
import PCastTimeline

/// What pages know of a game, and how they are told.
struct TimelinePageKnowledge: Sendable {
    /// Of one message, beside its envelope; of JSON it may hold 4096 values, 16 deep.
    private static let messageBytes = 32 * 1024
    private static let messageValues = 3_500
    /// Of an event as its producer wrote it.
    private static let (wholeBytes, wholeValues, wholeDepth) = (16 * 1024, 1_000, 10)
    /// Of all of a snapshot: a page that takes nothing has room for a mebibyte.
    private static let snapshotBytes = 640 * 1024

    private var game: JSONValue?
    private var events: [TimelineEventID: (at: WallTime, number: SequenceNumber, fields: JSONValue)] = [:]

    /// Notes what is told to the viewer.
    ///
    /// - Returns: what pages are told.
    mutating func take(_ delivery: TimelineDelivery) -> OverlayMessage {
        switch delivery.subject {
        case .info(let info):
            let fields = Self.fields(of: info)
            game = fields
            return Self.message("timeline.game", fields)
        case .event(let id, let event):
            let fields = Self.fields(of: event, id, delivery)
            if delivery.type == .deleted {
                events[id] = nil
            } else {
                events[id] = (delivery.at, delivery.number, fields)
            }
            return Self.message("timeline.\(delivery.type.rawValue)", fields)
        }
    }

    /// All of it, in as many messages as it takes. Of more than fits the newest counts.
    var snapshot: [OverlayMessage] {
        var parts: [[JSONValue]] = [[]]
        var (size, values, total) = (0, 0, 0)
        for event in events.values.sorted(by: { ($0.at, $0.number) > ($1.at, $1.number) }) {
            let (count, valueCount) = (event.fields.text.utf8.count + 1, event.fields.extent.values)
            guard total + count <= Self.snapshotBytes else { break }
            // The first has the game beside it.
            let room = parts.count == 1 ? 2 : 1
            if !parts[parts.count - 1].isEmpty,
                (size + count) * room > Self.messageBytes || (values + valueCount) * room > Self.messageValues
            {
                parts.append([])
                (size, values) = (0, 0)
            }
            parts[parts.count - 1].append(event.fields)
            (size, values, total) = (size + count, values + valueCount, total + count)
        }
        return parts.enumerated().map { index, events in
            var fields: JSONObject = [
                "part": .integer(Int64(index)), "parts": .integer(Int64(parts.count)), "events": .array(events),
            ]
            if index == 0 { fields["game"] = game }
            return Self.message("timeline.snapshot", .object(fields))
        }
    }

    // MARK: Words

    private static func message(_ event: String, _ fields: JSONValue) -> OverlayMessage {
        .appMessage((["event": .string(event), "metadata": fields] as JSONObject).text)
    }

    private static func fields(of info: GameInfo) -> JSONValue {
        var fields: JSONObject = [:]
        for team in info.teams ?? [] {
            guard let type = team.type, let side = side(type) else { continue }
            var words: JSONObject = [:]
            words["name"] = team.name.map { .string($0) }
            words["short"] = team.code.map { .string($0) }
            fields[side] = .object(words)
        }
        fields["venue"] = info.venueName.map { .string($0) }
        fields["info"] = whole(info.object)
        return .object(fields)
    }

    private static func fields(of event: GameEvent, _ id: TimelineEventID, _ delivery: TimelineDelivery) -> JSONValue {
        var fields: JSONObject = ["id": .string(id.description)]
        fields["reason"] = delivery.reason.map { .string($0.rawValue) }
        // Of what is not so any more no more is said.
        guard delivery.type != .deleted else { return .object(fields) }
        fields["at"] = .integer(delivery.at.millisecondsSinceEpoch)
        fields["seq"] = .integer(Int64(delivery.number.value))
        fields["kind"] = .string(event.type?.rawValue ?? "event")
        fields["title"] = event.description.map { .string($0) }
        let names = (event.players ?? []).compactMap(\.name)
        if !names.isEmpty { fields["detail"] = .string(names.joined(separator: ", ")) }
        fields["team"] = event.teamInvolved.flatMap { side($0) }.map { .string($0) }
        fields["period"] = event.period.map { .string($0) }
        let total = event.scorecard?.total
        fields["home"] = total?.home.map(score)
        fields["away"] = total?.visitor.map(score)
        fields["event"] = whole(event.object)
        let all = JSONValue.object(fields)
        guard all.text.utf8.count > messageBytes else { return all }
        // Words that long are not for a page.
        fields["event"] = nil
        fields["kind"] = .string(String((event.type?.rawValue ?? "event").prefix(200)))
        fields["title"] = event.description.map { .string(String($0.prefix(200))) }
        if !names.isEmpty { fields["detail"] = .string(String(names.joined(separator: ", ").prefix(200))) }
        fields["period"] = event.period.map { .string(String($0.prefix(20))) }
        return .object(fields)
    }

    /// A number where it is one, else the text as the sport writes it, such as `187/4`.
    private static func score(_ text: String) -> JSONValue {
        Int64(text).map { .integer($0) } ?? .string(String(text.prefix(24)))
    }

    /// As pages speak of teams.
    private static func side(_ side: TeamSide) -> String? {
        switch side {
        case .home: "home"
        case .visitor: "away"
        default: nil
        }
    }

    /// As the producer wrote it; nil for what is too much for a page.
    private static func whole(_ object: JSONObject) -> JSONValue? {
        guard object.bytes.count <= wholeBytes else { return nil }
        let whole = JSONValue.object(object)
        let extent = whole.extent
        return extent.values <= wholeValues && extent.depth <= wholeDepth ? whole : nil
    }
}

extension JSONValue {
    /// How many values it holds, itself among them, and how deep they lie in each other.
    fileprivate var extent: (values: Int, depth: Int) {
        let inner: [JSONValue]
        switch self {
        case .array(let values): inner = values
        case .object(let members): inner = members.members.map(\.value)
        default: return (1, 0)
        }
        return inner.reduce((values: 1, depth: 1)) { sum, value in
            let extent = value.extent
            return (sum.values + extent.values, max(sum.depth, extent.depth + 1))
        }
    }
}
