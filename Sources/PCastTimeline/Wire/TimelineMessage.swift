import PCastJSON

/// What the service tells a consumer, as JSON texts of a WebSocket.
public enum TimelineMessage: Hashable, Sendable {
    /// The first: which writing of the log it is, and the newest revision that there was then. A consumer that came with
    /// another writing's number gets everything from the beginning.
    case begin(TimelineLogID, newest: SequenceNumber, from: SequenceNumber)
    /// The next revisions, one at least.
    case changes([TimelineRevision])
    /// The consumer takes too slowly what it is sent: it is to come again with the number of the last that it has.
    case behind(newest: SequenceNumber)
    /// The door stays shut: a word for programs, and a sentence for people.
    case refused(String, String)
    /// Of a later version.
    case unknown(String)

    /// Of one message, in bytes: what consumers have to be ready for.
    public static let largest = 192 * 1024

    public var bytes: [UInt8] {
        switch self {
        case .begin(let id, let newest, let from):
            Self.bytes([
                "type": "begin", "log": .string(id.description), "newest": .integer(Int64(newest.value)),
                "from": .integer(Int64(from.value)),
            ])
        case .changes(let revisions): Self.changes(revisions.map(\.bytes))
        case .behind(let newest): Self.bytes(["type": "behind", "newest": .integer(Int64(newest.value))])
        case .refused(let status, let reason):
            Self.bytes(["type": "refused", "status": .string(status), "reason": .string(reason)])
        case .unknown(let type): Self.bytes(["type": .string(type)])
        }
    }

    private static func bytes(_ object: JSONObject) -> [UInt8] { object.bytes }

    /// The message of revisions that are written already.
    public static func changes(_ lines: some Collection<[UInt8]>) -> [UInt8] {
        var bytes = Array(#"{"type":"changes","changes":["#.utf8)
        var isFirst = true
        for line in lines {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            bytes.append(contentsOf: line)
        }
        bytes.append(contentsOf: "]}".utf8)
        return bytes
    }

    /// - Throws: `TimelineError` for what is none.
    public init(parsing bytes: [UInt8], within limits: TimelineLimits = .standard) throws(TimelineError) {
        var wide = limits.enveloped
        (wide.bytes, wide.values, wide.depth) = (Self.largest, Self.largest / 8, limits.enveloped.depth + 3)
        let object = try JSONObject(parsing: bytes, within: wide)
        switch object["type"]?.string {
        case "begin":
            guard let id = object["log"]?.string else { throw .notAMessage("log") }
            self = .begin(
                TimelineLogID(id), newest: try Self.number("newest", object), from: try Self.number("from", object))
        case "changes":
            var revisions: [TimelineRevision] = []
            guard let list = object["changes"]?.array else { throw .notAMessage("changes") }
            for value in list {
                guard let revision = value.object else { throw .notAMessage("changes") }
                revisions.append(try TimelineRevision(revision, within: limits))
            }
            self = .changes(revisions)
        case "behind": self = .behind(newest: try Self.number("newest", object))
        case "refused":
            self = .refused(object["status"]?.string ?? "failed", object["reason"]?.string ?? "")
        case let type?: self = .unknown(type)
        case nil: throw .notAMessage("type")
        }
    }

    private static func number(_ name: String, _ object: JSONObject) throws(TimelineError) -> SequenceNumber {
        guard let number = object[name]?.integer, (0...Int64(Int32.max)).contains(number) else {
            throw .notAMessage(name)
        }
        return SequenceNumber(Int(number))
    }
}
