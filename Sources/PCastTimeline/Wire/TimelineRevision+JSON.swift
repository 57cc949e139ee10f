import PCastCore
import PCastJSON

// The JSON form of a revision, which is a line of the log on disk and an element of a message to consumers:
//
//     {"seq":2,"at":1790000001000,"recordedAt":1790000001200,"change":"added","id":"goal-1","event":{…}}
//
// Times are in milliseconds since 1970, UTC. In a cluster, `origin` is the identifier of the request.
extension TimelineRevision {
    private enum FieldName {
        static let info = "info"
        static let added = "added"
        static let modified = "modified"
        static let deleted = "deleted"
    }

    /// The revision as compact JSON in UTF-8, on one line.
    public var bytes: [UInt8] { object.bytes }

    /// The revision as a JSON object.
    var object: JSONObject {
        var object: JSONObject = [
            "seq": .integer(Int64(number.value)), "at": .integer(at.millisecondsSinceEpoch),
            "recordedAt": .integer(recordedAt.millisecondsSinceEpoch),
        ]
        switch change {
        case .info(let info):
            object["change"] = .string(FieldName.info)
            object["info"] = .object(info.object)
        case .added(let id, let event): write(FieldName.added, id, event, into: &object)
        case .modified(let id, let event): write(FieldName.modified, id, event, into: &object)
        case .deleted(let id): write(FieldName.deleted, id, nil, into: &object)
        }
        object["origin"] = origin.map { .string($0) }
        return object
    }

    /// Writes the change of an event to the object.
    private func write(_ word: String, _ id: TimelineEventID, _ event: GameEvent?, into object: inout JSONObject) {
        object["change"] = .string(word)
        object["id"] = .string(id.description)
        object["event"] = event.map { .object($0.object) }
    }

    /// Parses a revision. Throws ``TimelineError`` if it is malformed or exceeds the limits.
    public init(parsing bytes: [UInt8], within limits: TimelineLimits = .standard) throws(TimelineError) {
        try self.init(try JSONObject(parsing: bytes, within: limits.enveloped), within: limits)
    }

    /// Creates a revision from a JSON object. Throws ``TimelineError`` if it is malformed.
    init(_ object: JSONObject, within limits: TimelineLimits) throws(TimelineError) {
        guard let number = object["seq"]?.integer, (1...Int64(Int32.max)).contains(number) else {
            throw .notAMessage("seq")
        }
        self.number = SequenceNumber(Int(number))
        at = try Self.time("at", object)
        recordedAt = try Self.time("recordedAt", object)
        origin = object["origin"]?.string
        guard (origin?.utf8.count ?? 0) <= limits.name else { throw .notAMessage("origin") }
        let word = object["change"]?.string
        if word == FieldName.info {
            guard let info = object["info"]?.object else { throw .notAMessage("info") }
            change = .info(GameInfo(info))
            return
        }
        guard let id = object["id"]?.string else { throw .notAMessage("id") }
        let eventID = try TimelineEventID(id, within: limits)
        switch (word, object["event"]?.object) {
        case (FieldName.added, let event?): change = .added(eventID, GameEvent(event))
        case (FieldName.modified, let event?): change = .modified(eventID, GameEvent(event))
        case (FieldName.deleted, nil): change = .deleted(eventID)
        default: throw .notAMessage("change")
        }
    }

    /// Returns the time of a field. Throws an error if it is missing or out of range.
    private static func time(_ name: String, _ object: JSONObject) throws(TimelineError) -> WallTime {
        // The range of nanoseconds in 64 bits.
        guard let milliseconds = object[name]?.integer, (-9_000_000_000_000...9_000_000_000_000).contains(milliseconds)
        else { throw .notAMessage(name) }
        return WallTime(millisecondsSinceEpoch: milliseconds)
    }
}

extension JSONObject {
    /// Parses a JSON object. Throws `TimelineError` if the bytes are not a JSON object, or exceed the limits.
    init(parsing bytes: [UInt8], within limits: TimelineLimits) throws(TimelineError) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(bytes, within: limits.json)
        } catch {
            throw TimelineError(error)
        }
        guard case .object(let object) = value else { throw .wrongType("the message", expected: "an object") }
        self = object
    }
}
