/// A JSON parser (RFC 8259) with limits for untrusted texts.
struct JSONReader {
    private let bytes: [UInt8]
    private let limits: JSONLimits
    private var position = 0
    /// The number of values so far.
    private var count = 0

    private init(_ bytes: [UInt8], _ limits: JSONLimits) { (self.bytes, self.limits) = (bytes, limits) }

    /// Parses a text that consists of one value.
    ///
    /// - Parameters:
    ///   - bytes: The text in UTF-8.
    ///   - limits: The limits.
    /// - Returns: The value.
    /// - Throws: ``JSONError`` if the text is not JSON or exceeds a limit.
    static func value(of bytes: [UInt8], within limits: JSONLimits) throws(JSONError) -> JSONValue {
        guard bytes.count <= limits.bytes else { throw .tooLarge(limit: limits.bytes) }
        var reader = JSONReader(bytes, limits)
        let value = try reader.readValue(depth: 0)
        guard reader.skipSpace() == nil else { throw reader.broken }
        return value
    }

    /// The error at the current position.
    private var broken: JSONError { .malformed(at: position) }

    /// Skips white space and returns the next byte without consuming it; nil at the end.
    private mutating func skipSpace() -> UInt8? {
        while let byte = peek() {
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
            position += 1
        }
        return nil
    }

    private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func next() -> UInt8? {
        guard let byte = peek() else { return nil }
        position += 1
        return byte
    }

    /// Skips white space and consumes a character. Returns false if the next one is another.
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard skipSpace() == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    /// Reads a value; `depth` is the number of arrays and objects around it.
    private mutating func readValue(depth: Int) throws(JSONError) -> JSONValue {
        guard depth < limits.depth else { throw .tooDeep(limit: limits.depth) }
        count += 1
        guard count <= limits.values else { throw .tooManyValues(limit: limits.values) }
        guard let first = skipSpace() else { throw broken }
        switch first {
        case UInt8(ascii: "{"): return .object(try readObject(depth))
        case UInt8(ascii: "["): return .array(try readArray(depth))
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "t"): return try readWord("true", .boolean(true))
        case UInt8(ascii: "f"): return try readWord("false", .boolean(false))
        case UInt8(ascii: "n"): return try readWord("null", .null)
        default: return .number(try readNumber())
        }
    }

    private mutating func readWord(_ word: String, _ value: JSONValue) throws(JSONError) -> JSONValue {
        guard bytes[position...].starts(with: word.utf8) else { throw broken }
        position += word.utf8.count
        return value
    }

    private mutating func readObject(_ depth: Int) throws(JSONError) -> JSONObject {
        guard take("{") else { throw broken }
        var members: [JSONObject.Member] = []
        if take("}") { return JSONObject(members) }
        // The dictionary avoids a linear search for each name, which would take quadratic time for thousands of names.
        var indices: [String: Int] = [:]
        repeat {
            guard skipSpace() == UInt8(ascii: "\"") else { throw broken }
            let start = position
            let name = try readString()
            guard take(":") else { throw broken }
            let value = try readValue(depth: depth + 1)
            if let index = indices[name] {
                if limits.refusesAmbiguity { throw .malformed(at: start) }
                members[index] = JSONObject.Member(name: name, value: value)
            } else {
                guard members.count < limits.members else { throw .tooManyMembers(limit: limits.members) }
                indices[name] = members.count
                members.append(JSONObject.Member(name: name, value: value))
            }
        } while take(",")
        guard take("}") else { throw broken }
        return JSONObject(members)
    }

    private mutating func readArray(_ depth: Int) throws(JSONError) -> [JSONValue] {
        guard take("[") else { throw broken }
        var values: [JSONValue] = []
        if take("]") { return values }
        repeat { values.append(try readValue(depth: depth + 1)) } while take(",")
        guard take("]") else { throw broken }
        return values
    }

    /// Reads a finite number: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?` (RFC 8259, section 6).
    ///
    /// - Returns: The number with its spelling.
    /// - Throws: ``JSONError/malformed(at:)``.
    private mutating func readNumber() throws(JSONError) -> JSONNumber {
        let start = position
        skip { $0 == UInt8(ascii: "-") }
        let whole = position
        guard skipDigits() > 0, bytes[whole] != UInt8(ascii: "0") || position == whole + 1 else { throw broken }
        if skip({ $0 == UInt8(ascii: ".") }), skipDigits() == 0 { throw broken }
        if skip({ $0 | 0x20 == UInt8(ascii: "e") }) {
            skip { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
            if skipDigits() == 0 { throw broken }
        }
        guard position - start <= JSONLimits.numberLength else { throw .malformed(at: start) }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard Double(text)?.isFinite == true else { throw .malformed(at: start) }
        return JSONNumber(checked: text)
    }

    /// Consumes the next byte if it matches. Returns whether it does.
    @discardableResult
    private mutating func skip(_ isWanted: (UInt8) -> Bool) -> Bool {
        guard let byte = peek(), isWanted(byte) else { return false }
        position += 1
        return true
    }

    /// Consumes digits and returns their number.
    private mutating func skipDigits() -> Int {
        let start = position
        while skip({ (0x30...0x39).contains($0) }) {}
        return position - start
    }

    private mutating func readString() throws(JSONError) -> String {
        guard take("\"") else { throw broken }
        var text: [UInt8] = []
        while let byte = next() {
            switch byte {
            case UInt8(ascii: "\""):
                guard let string = String(validating: text, as: UTF8.self) else { throw broken }
                return string
            case UInt8(ascii: "\\"): try readEscape(into: &text)
            case 0..<0x20: throw broken
            default: text.append(byte)
            }
        }
        throw broken
    }

    private mutating func readEscape(into text: inout [UInt8]) throws(JSONError) {
        switch next() {
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "r"): text.append(0x0D)
        case let byte? where byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "/"):
            text.append(byte)
        case UInt8(ascii: "u"): text.append(contentsOf: Character(try scalar(from: readHexUnit())).utf8)
        default: throw broken
        }
    }

    /// Returns the scalar of a `\u` escape, for which it may read the second half of a surrogate pair.
    ///
    /// An unpaired surrogate becomes U+FFFD, as when ECMAScript encodes a string in UTF-8, unless ambiguity is
    /// rejected.
    ///
    /// - Parameter unit: The UTF-16 code unit of the escape.
    /// - Returns: The scalar.
    /// - Throws: ``JSONError/malformed(at:)`` for an unpaired surrogate, if ambiguity is rejected.
    private mutating func scalar(from unit: UInt16) throws(JSONError) -> Unicode.Scalar {
        if let scalar = Unicode.Scalar(unit) { return scalar }
        let afterLead = position
        if UTF16.isLeadSurrogate(unit), next() == UInt8(ascii: "\\"), next() == UInt8(ascii: "u"),
            let trail = try? readHexUnit(), UTF16.isTrailSurrogate(trail)
        {
            return UTF16.decode(UTF16.EncodedScalar([unit, trail]))
        }
        position = afterLead
        guard !limits.refusesAmbiguity else { throw broken }
        return "\u{FFFD}"
    }

    /// Reads four hexadecimal digits.
    private mutating func readHexUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = next(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw broken }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}

/// The reason why a text was rejected as JSON. Limits are those of ``JSONLimits``.
public enum JSONError: Error, Hashable, Sendable {
    /// The text has more bytes than the limit.
    case tooLarge(limit: Int)
    /// Arrays and objects are nested deeper than the limit.
    case tooDeep(limit: Int)
    /// The text has more values than the limit.
    case tooManyValues(limit: Int)
    /// An object has more members than the limit.
    case tooManyMembers(limit: Int)
    /// The text is not JSON, or is ambiguous, at a byte offset.
    case malformed(at: Int)
}

extension JSONError: CustomStringConvertible {
    /// The message for a person: the limit, or the byte to look at.
    public var description: String {
        switch self {
        case .tooLarge(let limit): "the text is too large: send at most \(limit) bytes"
        case .tooDeep(let limit): "the text is nested too deeply: use at most \(limit) levels"
        case .tooManyValues(let limit): "the text has too many values: use at most \(limit)"
        case .tooManyMembers(let limit): "an object has too many members: use at most \(limit)"
        case .malformed(let offset): "the text is not valid JSON: check byte \(offset)"
        }
    }
}

/// The limits for JSON from untrusted sources. A text that exceeds one is rejected.
public struct JSONLimits: Hashable, Sendable {
    /// The maximum size of the text in bytes of UTF-8.
    public var bytes: Int
    /// The maximum nesting depth of arrays and objects.
    public var depth: Int
    /// The maximum number of values, including those in arrays and objects.
    public var values: Int
    /// The maximum number of members of one object.
    public var members: Int
    /// Whether to reject repeated member names and unpaired surrogates, which parsers handle differently (RFC 7493,
    /// sections 2.1 and 2.3).
    ///
    /// If false, they are read as in ECMAScript: the last member counts, and an unpaired surrogate becomes U+FFFD.
    public var refusesAmbiguity: Bool

    /// Creates limits; the defaults suit small messages.
    public init(
        bytes: Int = 16 * 1024, depth: Int = 16, values: Int = 4_096, members: Int = 512, refusesAmbiguity: Bool = false
    ) {
        (self.bytes, self.depth, self.values, self.members) = (bytes, depth, values, members)
        self.refusesAmbiguity = refusesAmbiguity
    }

    /// The default limits: 16 KiB, 16 levels, 4,096 values, 512 members of an object.
    public static let standard = JSONLimits()

    /// The maximum length of a number. None needs more characters, and longer ones take long to parse.
    static let numberLength = 64
}
