/// A JSON value (RFC 8259). Members keep their order and numbers their spelling, so that a received value can be
/// forwarded unchanged.
public indirect enum JSONValue: Hashable, Sendable {
    /// The value `null`.
    case null
    /// The value `true` or `false`.
    case boolean(Bool)
    /// A number with its spelling.
    case number(JSONNumber)
    /// A string without its quotes and escapes.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)

    /// Parses a text that consists of one value.
    ///
    /// - Parameters:
    ///   - bytes: The text in UTF-8.
    ///   - limits: The limits of the text.
    /// - Throws: ``JSONError`` if the text is not JSON or exceeds a limit.
    public init(_ bytes: [UInt8], within limits: JSONLimits = .standard) throws(JSONError) {
        self = try JSONReader.value(of: bytes, within: limits)
    }

    /// Returns a number from an integer.
    public static func integer(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }

    /// Returns a number; null for infinity and NaN, which JSON cannot express.
    public static func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }

    /// The compact JSON text in UTF-8, as `JSON.stringify` of ECMAScript writes it: without white space, and with `/`
    /// and non-ASCII characters unescaped.
    public var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.write(self)
        return writer.bytes
    }

    /// The compact JSON text. See ``bytes``.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// Access to the value as a type; nil if it has another type.
extension JSONValue {
    /// The string; nil if the value is not a string.
    public var string: String? { if case .string(let string) = self { string } else { nil } }

    /// The boolean; nil if the value is not a boolean.
    public var boolean: Bool? { if case .boolean(let boolean) = self { boolean } else { nil } }

    /// The array; nil if the value is not an array.
    public var array: [JSONValue]? { if case .array(let array) = self { array } else { nil } }

    /// The object; nil if the value is not an object.
    public var object: JSONObject? { if case .object(let object) = self { object } else { nil } }

    /// The number as an integer; nil if the value is not a number, has a fraction, or exceeds 64 bits.
    public var integer: Int64? { if case .number(let number) = self { number.integer } else { nil } }

    /// The number, rounded to a `Double`; nil if the value is not a number.
    public var number: Double? { if case .number(let number) = self { number.value } else { nil } }

    /// The value of a member; nil if the value is not an object or has no such member.
    public subscript(name: String) -> JSONValue? { object?[name] }

    /// The type of the value with its article, for messages to a person.
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
