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

/// A value can be coded by any encoder. A number that is not a 64-bit integer is coded as a `Double` and loses its
/// spelling, and members are decoded in the order of their names.
extension JSONValue: Codable {
    /// Decodes any JSON value.
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: The error of the decoder if the value is of no JSON type.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let boolean = try? container.decode(Bool.self) {
            self = .boolean(boolean)
        } else if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let string = try? container.decode(String.self) {
            self = .string(string)
        } else if let array = try? container.decode([JSONValue].self) {
            self = .array(array)
        } else {
            self = .object(JSONObject(sorting: try container.decode([String: JSONValue].self)))
        }
    }

    /// Encodes the value; an object is encoded as a dictionary.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let boolean): try container.encode(boolean)
        case .number(let number):
            if let integer = number.integer {
                try container.encode(integer)
            } else {
                try container.encode(number.value)
            }
        case .string(let string): try container.encode(string)
        case .array(let array): try container.encode(array)
        case .object(let object): try container.encode(object.dictionary)
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates a boolean.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// Creates a number from an integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a number; infinity and NaN become null.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// Creates an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Creates null.
    public init(nilLiteral: ()) { self = .null }

    /// Creates an object. If a name repeats, the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements))
    }
}

/// A finite JSON number, which keeps its spelling.
public struct JSONNumber: Sendable {
    /// The number as in the JSON text.
    public let text: String

    /// Creates a number from text that is a valid JSON number and is finite as a `Double`.
    init(checked text: String) { self.text = text }

    /// Creates a number from an integer.
    public init(_ value: Int64) { text = String(value) }

    /// Creates a number, spelled as in ECMAScript: a whole number has no fraction. Returns nil for infinity and NaN,
    /// which JSON cannot express.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        text = Int64(exactly: value).map { String($0) } ?? value.description
    }

    /// The value as an integer; nil if it has a fraction or exceeds 64 bits.
    public var integer: Int64? { Int64(text) ?? Int64(exactly: value) }

    /// The value, rounded to a `Double`.
    public var value: Double { Double(text) ?? 0 }
}

/// Numbers are equal if their values are, regardless of the spelling.
extension JSONNumber: Hashable {
    /// Returns whether two numbers have the same value.
    public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        if left.text == right.text { return true }
        if let left = left.integer, let right = right.integer { return left == right }
        return left.value == right.value
    }

    /// Hashes the value, which is the same for all spellings.
    public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// Writes compact JSON with the same bytes as `JSON.stringify` (ECMA-262, section 25.5.2).
struct JSONWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: write(raw: "null")
        case .boolean(let boolean): write(raw: boolean ? "true" : "false")
        case .number(let number): bytes.append(contentsOf: number.text.utf8)
        case .string(let string): write(string)
        case .array(let values):
            writeList("[", values, "]") { $0.write($1) }
        case .object(let object):
            writeList("{", object.members, "}") {
                $0.write($1.name)
                $0.write(raw: ":")
                $0.write($1.value)
            }
        }
    }

    private mutating func writeList<Element>(
        _ opening: String, _ elements: [Element], _ closing: String,
        _ writeElement: (inout JSONWriter, Element) -> Void
    ) {
        write(raw: opening)
        for (index, element) in elements.enumerated() {
            if index > 0 { write(raw: ",") }
            writeElement(&self, element)
        }
        write(raw: closing)
    }

    private mutating func write(raw text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    private mutating func write(_ string: String) {
        write(raw: "\"")
        for byte in string.utf8 {
            switch byte {
            case 0x08: write(raw: #"\b"#)
            case 0x09: write(raw: #"\t"#)
            case 0x0A: write(raw: #"\n"#)
            case 0x0C: write(raw: #"\f"#)
            case 0x0D: write(raw: #"\r"#)
            case UInt8(ascii: "\""): write(raw: #"\""#)
            case UInt8(ascii: "\\"): write(raw: #"\\"#)
            case 0..<0x20:
                write(raw: byte < 0x10 ? #"\u000"# : #"\u00"#)
                bytes.append(contentsOf: String(byte, radix: 16).utf8)
            default: bytes.append(byte)
            }
        }
        write(raw: "\"")
    }
}
