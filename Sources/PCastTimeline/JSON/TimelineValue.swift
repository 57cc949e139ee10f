/// What JSON can say (RFC 8259), as it was said: members keep their order, and numbers their spelling, so that what a feed
/// sends goes through unchanged, known or not.
public indirect enum TimelineValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    case number(TimelineNumber)
    case string(String)
    case array([TimelineValue])
    case object(TimelineObject)

    public var string: String? { if case .string(let string) = self { string } else { nil } }

    public var array: [TimelineValue]? { if case .array(let array) = self { array } else { nil } }

    public var object: TimelineObject? { if case .object(let object) = self { object } else { nil } }

    /// Nil for what is no whole number that 64 bits hold.
    public var integer: Int64? { if case .number(let number) = self { number.integer } else { nil } }

    public static func integer(_ value: Int64) -> TimelineValue { .number(TimelineNumber(value)) }

    /// Compact JSON in UTF-8.
    public var bytes: [UInt8] {
        var writer = TimelineWriter()
        writer.write(self)
        return writer.bytes
    }

    /// Compact JSON.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The kind of value, for people.
    var kind: String {
        switch self {
        case .null: "null"
        case .boolean: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "a list"
        case .object: "an object"
        }
    }
}

/// A number as it was written.
public struct TimelineNumber: Hashable, Sendable {
    /// As JSON writes it.
    public let text: String

    /// - Parameter text: what the grammar of JSON calls a number.
    init(checked text: String) { self.text = text }

    public init(_ value: Int64) { text = String(value) }

    /// Nil for what has no number in JSON: infinite, or none.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        text = value.description
    }

    public var integer: Int64? { Int64(text) ?? Double(text).flatMap { Int64(exactly: $0) } }

    /// Infinite where it is beyond what 64 bits hold.
    public var value: Double { Double(text) ?? 0 }
}
