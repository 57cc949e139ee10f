public import PCastJSON

/// One message between a page and an overlay, either way, as one text message of a WebSocket:
/// `{"v":1,"event":"player.time","metadata":{…},"seq":7,"epoch":3}`.
///
/// Which way it goes is part of its meaning: `player.time` to a page reports, and from a page asks for a seek.
public struct OverlayEnvelope: Hashable, Sendable {
    public static let version: Int64 = 1
    /// Of its text, in bytes of UTF-8.
    public static let sizeLimit = 64 * 1_024
    /// Of an event's name, in characters.
    public static let nameLimit = 64
    /// What JavaScript counts exactly.
    static let numbers: ClosedRange<Int64> = 0...(1 << 53 - 1)

    /// Letters, digits, `.`, `-` and `_`.
    public var event: String
    public var metadata: JSONObject
    /// Counts the messages of one end, from 1; each is higher than the one before.
    public var sequence: Int64
    /// Of the playhead that the sender knew.
    public var epoch: Int64

    public init(_ event: String, _ metadata: JSONObject = [:], sequence: Int64, epoch: Int64) {
        (self.event, self.metadata, self.sequence, self.epoch) = (event, metadata, sequence, epoch)
    }

    /// Reads one. Fields beside these are left out of account.
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

    public var text: String {
        Self.text(event, metadata.text, sequence: sequence, epoch: epoch)
    }

    /// Of metadata that are text already.
    static func text(_ event: String, _ metadata: String, sequence: Int64, epoch: Int64) -> String {
        "{\"v\":\(version),\"event\":\"\(event)\",\"metadata\":\(metadata),\"seq\":\(sequence),\"epoch\":\(epoch)}"
    }

    /// Of 1 to 64 letters, digits, `.`, `-` and `_`.
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
