public import PCastJSON

/// A message between a page and an overlay in either direction. It is the text message of a WebSocket:
/// `{"v":1,"event":"player.time","metadata":{…},"seq":7,"epoch":3}`.
///
/// The meaning depends on the direction: `player.time` to a page is a report, and from a page it is a request to seek.
public struct OverlayEnvelope: Hashable, Sendable {
    /// The version of the message format (`v`).
    public static let version: Int64 = 1
    /// The maximum size of the text in bytes of UTF-8.
    public static let sizeLimit = 64 * 1_024
    /// The maximum length of an event name in characters.
    public static let nameLimit = 64
    /// The range of sequence numbers and epochs, in which JavaScript numbers are exact.
    static let numbers: ClosedRange<Int64> = 0...(1 << 53 - 1)

    /// The name of the event, which consists of letters, digits, `.`, `-` and `_`.
    public var event: String
    /// The payload of the event.
    public var metadata: JSONObject
    /// The sequence number, which increases with each message of the sender and begins with 1.
    public var sequence: Int64
    /// The latest epoch of the playhead that the sender knew.
    public var epoch: Int64

    /// Creates a message; `event` must be valid (see ``isName(_:)``).
    public init(_ event: String, _ metadata: JSONObject = [:], sequence: Int64, epoch: Int64) {
        (self.event, self.metadata, self.sequence, self.epoch) = (event, metadata, sequence, epoch)
    }

    /// Parses a message. Unknown fields are ignored.
    ///
    /// - Parameter text: The JSON text.
    /// - Throws: ``OverlayWireError`` if the text is not JSON or not a message.
    public init(text: String) throws(OverlayWireError) {
        guard let object = try JSONValue(message: text).object else { throw .noMessage(field: "event") }
        guard let version = object["v"]?.integer else { throw .noMessage(field: "v") }
        guard version == Self.version else { throw .unsupportedVersion(version) }
        guard let event = object["event"]?.string, Self.isName(event) else { throw .noMessage(field: "event") }
        guard let sequence = object["seq"]?.integer, Self.numbers.contains(sequence) else {
            throw .noMessage(field: "seq")
        }
        guard let epoch = object["epoch"]?.integer, Self.numbers.contains(epoch) else {
            throw .noMessage(field: "epoch")
        }
        guard let metadata = (object["metadata"] ?? .object([:])).object else { throw .noMessage(field: "metadata") }
        self.init(event, metadata, sequence: sequence, epoch: epoch)
    }

    /// The JSON text of the message.
    public var text: String {
        Self.text(event, metadata.text, sequence: sequence, epoch: epoch)
    }

    /// Returns the JSON text of a message whose metadata is already JSON text.
    static func text(_ event: String, _ metadata: String, sequence: Int64, epoch: Int64) -> String {
        "{\"v\":\(version),\"event\":\"\(event)\",\"metadata\":\(metadata),\"seq\":\(sequence),\"epoch\":\(epoch)}"
    }

    /// Returns whether a name consists of 1 to 64 letters, digits, `.`, `-` and `_`.
    public static func isName(_ name: String) -> Bool {
        (1...nameLimit).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

extension JSONLimits {
    /// The limits of a message between a page and an overlay. Ambiguous JSON is rejected, so that both ends read a
    /// message in the same way.
    static let overlay = JSONLimits(
        bytes: OverlayEnvelope.sizeLimit, values: 4_096, members: 4_096, refusesAmbiguity: true)
}

extension JSONValue {
    /// Parses a message.
    ///
    /// - Parameter text: The JSON text of a whole message.
    /// - Throws: ``OverlayWireError`` if the text is not JSON or exceeds a limit.
    init(message text: String) throws(OverlayWireError) {
        do throws(JSONError) {
            try self.init(Array(text.utf8), within: .overlay)
        } catch {
            throw OverlayWireError(error)
        }
    }
}
