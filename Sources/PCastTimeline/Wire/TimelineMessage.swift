import PCastJSON

/// A message of the service to a consumer, which is sent as a JSON text over a WebSocket.
public enum TimelineMessage: Hashable, Sendable {
    /// The first message: the ID of the log, its newest revision, and the revision after which the changes begin. A
    /// consumer with a number of another log receives all revisions. If the revision is the consumer's newest one, the log
    /// continues that of the consumer. The message is also sent when another node of a cluster continues a log.
    case begin(TimelineLogID, newest: SequenceNumber, from: SequenceNumber)
    /// The next revisions; at least one.
    case changes([TimelineRevision])
    /// The consumer is too slow. It has to reconnect with the number of its last revision.
    case behind(newest: SequenceNumber)
    /// The request is refused, with a status for programs and a reason for people.
    case refused(String, String)
    /// A message of a later version; the value is its type.
    case unknown(String)

    /// The maximum size of a message in bytes, which consumers have to accept.
    public static let largest = 192 * 1024

    /// The message as JSON in UTF-8.
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

    /// Returns an object as JSON in UTF-8.
    private static func bytes(_ object: JSONObject) -> [UInt8] { object.bytes }

    /// Returns the message that contains encoded revisions.
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

    /// Parses a message. Throws ``TimelineError`` if it is malformed or exceeds the limits.
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

    /// Returns the sequence number of a field. Throws an error if it is missing or out of range.
    private static func number(_ name: String, _ object: JSONObject) throws(TimelineError) -> SequenceNumber {
        guard let number = object[name]?.integer, (0...Int64(Int32.max)).contains(number) else {
            throw .notAMessage(name)
        }
        return SequenceNumber(Int(number))
    }
}
