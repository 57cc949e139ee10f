import PCastCore
import PCastJSON
import PCastOverlay
import PCastTimeline

/// The current state of a game as overlay pages know it, and the messages that change it.
struct TimelinePageState: Sendable {
    /// The maximum size of a message without its envelope, in bytes. The bridge accepts JSON of at most 4096 values
    /// with depth 16.
    private static let messageBytes = 32 * 1024
    private static let messageValues = 3_500
    /// The limits for the original JSON of an event within a message: bytes, values and depth.
    private static let (wholeBytes, wholeValues, wholeDepth) = (16 * 1024, 1_000, 10)
    /// The maximum size of all messages of a snapshot, in bytes. The queue of a page holds 1 MiB.
    private static let snapshotBytes = 640 * 1024

    private var game: JSONValue?
    private var events: [TimelineEventID: (at: WallTime, number: SequenceNumber, fields: JSONValue)] = [:]

    /// Applies a delivery and returns the message for the pages.
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

    /// The messages that transmit the whole state. If it is too large, only the newest events are included.
    var snapshot: [OverlayMessage] {
        var parts: [[JSONValue]] = [[]]
        var (size, values, total) = (0, 0, 0)
        for event in events.values.sorted(by: { ($0.at, $0.number) > ($1.at, $1.number) }) {
            let (count, valueCount) = (event.fields.text.utf8.count + 1, event.fields.extent.values)
            guard total + count <= Self.snapshotBytes else { break }
            // The first message also contains the game.
            let firstMessages = parts.count == 1 ? 2 : 1
            if !parts[parts.count - 1].isEmpty,
                (size + count) * firstMessages > Self.messageBytes
                    || (values + valueCount) * firstMessages > Self.messageValues
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

    // MARK: Messages

    /// Returns an application message.
    private static func message(_ event: String, _ fields: JSONValue) -> OverlayMessage {
        .appMessage((["event": .string(event), "metadata": fields] as JSONObject).text)
    }

    /// Returns the fields that describe the game.
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

    /// Returns the fields that describe an event.
    private static func fields(of event: GameEvent, _ id: TimelineEventID, _ delivery: TimelineDelivery) -> JSONValue {
        var fields: JSONObject = ["id": .string(id.description)]
        fields["reason"] = delivery.reason.map { .string($0.rawValue) }
        // A deleted event needs no description.
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
        // Texts that exceed the size of a message are truncated.
        fields["event"] = nil
        fields["kind"] = .string(String((event.type?.rawValue ?? "event").prefix(200)))
        fields["title"] = event.description.map { .string(String($0.prefix(200))) }
        if !names.isEmpty { fields["detail"] = .string(String(names.joined(separator: ", ").prefix(200))) }
        fields["period"] = event.period.map { .string(String($0.prefix(20))) }
        return .object(fields)
    }

    /// Returns a score as a number if it is one, otherwise as the text of the sport, such as `187/4`.
    private static func score(_ text: String) -> JSONValue {
        Int64(text).map { .integer($0) } ?? .string(String(text.prefix(24)))
    }

    /// Returns the name of a team's side for pages; nil for an unknown side.
    private static func side(_ side: TeamSide) -> String? {
        switch side {
        case .home: "home"
        case .visitor: "away"
        default: nil
        }
    }

    /// Returns the original JSON; nil if it exceeds the limits.
    private static func whole(_ object: JSONObject) -> JSONValue? {
        guard object.bytes.count <= wholeBytes else { return nil }
        let whole = JSONValue.object(object)
        let extent = whole.extent
        return extent.values <= wholeValues && extent.depth <= wholeDepth ? whole : nil
    }
}

extension JSONValue {
    /// The number of values, including this one, and the depth of nesting.
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
