import PCastCore
import PCastJSON

/// How a revision is written: a line of the log on disk, and an element of what consumers are sent.
///
///     {"seq":2,"at":1790000001000,"recordedAt":1790000001200,"change":"added","id":"goal-1","event":{…}}
///
/// Times are UTC, in milliseconds since 1970.
extension TimelineRevision {
    private enum Word {
        static let info = "info"
        static let added = "added"
        static let modified = "modified"
        static let deleted = "deleted"
    }

    /// Compact JSON in UTF-8, on one line.
    public var bytes: [UInt8] { object.bytes }

    var object: JSONObject {
        var object: JSONObject = [
            "seq": .integer(Int64(number.value)), "at": .integer(at.millisecondsSinceEpoch),
            "recordedAt": .integer(recordedAt.millisecondsSinceEpoch),
        ]
        switch change {
        case .info(let info):
            object["change"] = .string(Word.info)
            object["info"] = .object(info.object)
        case .added(let id, let event): write(Word.added, id, event, into: &object)
        case .modified(let id, let event): write(Word.modified, id, event, into: &object)
        case .deleted(let id): write(Word.deleted, id, nil, into: &object)
        }
        return object
    }

    private func write(_ word: String, _ id: TimelineEventID, _ event: GameEvent?, into object: inout JSONObject) {
        object["change"] = .string(word)
        object["id"] = .string(id.description)
        object["event"] = event.map { .object($0.object) }
    }

    /// - Throws: `TimelineError` for what is none.
    public init(parsing bytes: [UInt8], within limits: TimelineLimits = .standard) throws(TimelineError) {
        try self.init(try JSONObject(parsing: bytes, within: limits.enveloped), within: limits)
    }

    init(_ object: JSONObject, within limits: TimelineLimits) throws(TimelineError) {
        guard let number = object["seq"]?.integer, (1...Int64(Int32.max)).contains(number) else {
            throw .notAMessage("seq")
        }
        self.number = SequenceNumber(Int(number))
        at = try Self.time("at", object)
        recordedAt = try Self.time("recordedAt", object)
        let word = object["change"]?.string
        if word == Word.info {
            guard let info = object["info"]?.object else { throw .notAMessage("info") }
            change = .info(GameInfo(info))
            return
        }
        guard let id = object["id"]?.string else { throw .notAMessage("id") }
        let eventID = try TimelineEventID(id, within: limits)
        switch (word, object["event"]?.object) {
        case (Word.added, let event?): change = .added(eventID, GameEvent(event))
        case (Word.modified, let event?): change = .modified(eventID, GameEvent(event))
        case (Word.deleted, nil): change = .deleted(eventID)
        default: throw .notAMessage("change")
        }
    }

    private static func time(_ name: String, _ object: JSONObject) throws(TimelineError) -> WallTime {
        // As far as nanoseconds of 64 bits reach.
        guard let milliseconds = object[name]?.integer, (-9_000_000_000_000...9_000_000_000_000).contains(milliseconds)
        else { throw .notAMessage(name) }
        return WallTime(millisecondsSinceEpoch: milliseconds)
    }
}
