/// What JSON can say (RFC 8259), as it was said: members keep their order, and numbers their spelling, so that what a
/// stranger sends goes through unchanged, known or not.
public indirect enum JSONValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// The one value that `bytes` hold.
    ///
    /// - Throws: where it breaks off being JSON, or which limit it is beyond.
    public init(_ bytes: [UInt8], within limits: JSONLimits = .standard) throws(JSONError) {
        self = try JSONReader.value(of: bytes, within: limits)
    }

    public static func integer(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }

    /// Null for what JSON has no number for: infinite, or none.
    public static func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }

    /// Compact JSON in UTF-8, as `JSON.stringify` of ECMAScript writes it: no white space, `/` and all beyond ASCII as it is.
    public var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.write(self)
        return writer.bytes
    }

    /// See `bytes`.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// The value, where it is of that kind.
extension JSONValue {
    public var string: String? { if case .string(let string) = self { string } else { nil } }

    public var boolean: Bool? { if case .boolean(let boolean) = self { boolean } else { nil } }

    public var array: [JSONValue]? { if case .array(let array) = self { array } else { nil } }

    public var object: JSONObject? { if case .object(let object) = self { object } else { nil } }

    /// Nil for what is no whole number that 64 bits hold.
    public var integer: Int64? { if case .number(let number) = self { number.integer } else { nil } }

    public var number: Double? { if case .number(let number) = self { number.value } else { nil } }

    /// What an object says under a name; nil where it is none, or does not say it.
    public subscript(name: String) -> JSONValue? { object?[name] }

    /// The kind of value, for people.
    public var kind: String {
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
