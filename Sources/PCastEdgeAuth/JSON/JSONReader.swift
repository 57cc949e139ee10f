/// Reads JSON (RFC 8259) that a stranger wrote: at most 16 KiB of it, nested at most 16 deep.
struct JSONReader {
    static let maximumSize = 16 * 1024
    static let maximumDepth = 16

    private let bytes: [UInt8]
    private var position = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The one value that `bytes` hold; nil where they are not JSON in valid UTF-8, or beyond the limits.
    static func value(of bytes: [UInt8]) -> JSONValue? {
        guard bytes.count <= maximumSize else { return nil }
        var reader = JSONReader(bytes)
        guard let value = reader.readValue(depth: 0), reader.skipSpace() == nil else { return nil }
        return value
    }

    /// The first byte behind white space, which stays unread; nil at the end.
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

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard skipSpace() == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func readValue(depth: Int) -> JSONValue? {
        guard depth < Self.maximumDepth, let first = skipSpace() else { return nil }
        switch first {
        case UInt8(ascii: "{"): return readObject(depth: depth).map(JSONValue.object)
        case UInt8(ascii: "["): return readArray(depth: depth).map(JSONValue.array)
        case UInt8(ascii: "\""): return readString().map(JSONValue.string)
        case UInt8(ascii: "t"): return readWord("true", .boolean(true))
        case UInt8(ascii: "f"): return readWord("false", .boolean(false))
        case UInt8(ascii: "n"): return readWord("null", .null)
        default: return readNumber().map(JSONValue.number)
        }
    }

    private mutating func readWord(_ word: String, _ value: JSONValue) -> JSONValue? {
        guard bytes[position...].starts(with: word.utf8) else { return nil }
        position += word.utf8.count
        return value
    }

    private mutating func readObject(depth: Int) -> JSONObject? {
        guard take("{") else { return nil }
        var object = JSONObject()
        if take("}") { return object }
        repeat {
            guard skipSpace() == UInt8(ascii: "\""), let name = readString(), take(":"),
                let value = readValue(depth: depth + 1)
            else { return nil }
            object[name] = value
        } while take(",")
        return take("}") ? object : nil
    }

    private mutating func readArray(depth: Int) -> [JSONValue]? {
        guard take("[") else { return nil }
        var values: [JSONValue] = []
        if take("]") { return values }
        repeat {
            guard let value = readValue(depth: depth + 1) else { return nil }
            values.append(value)
        } while take(",")
        return take("]") ? values : nil
    }

    /// `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?` (RFC 8259, section 6), and finite.
    private mutating func readNumber() -> Double? {
        let start = position
        skip { $0 == UInt8(ascii: "-") }
        let whole = position
        guard skipDigits() > 0, bytes[whole] != UInt8(ascii: "0") || position == whole + 1 else { return nil }
        if skip({ $0 == UInt8(ascii: ".") }), skipDigits() == 0 { return nil }
        if skip({ $0 | 0x20 == UInt8(ascii: "e") }) {
            skip { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
            if skipDigits() == 0 { return nil }
        }
        guard let number = Double(String(decoding: bytes[start..<position], as: UTF8.self)), number.isFinite
        else { return nil }
        return number
    }

    @discardableResult
    private mutating func skip(_ isWanted: (UInt8) -> Bool) -> Bool {
        guard let byte = peek(), isWanted(byte) else { return false }
        position += 1
        return true
    }

    private mutating func skipDigits() -> Int {
        let start = position
        while skip({ (0x30...0x39).contains($0) }) {}
        return position - start
    }

    private mutating func readString() -> String? {
        guard take("\"") else { return nil }
        var text: [UInt8] = []
        while let byte = next() {
            switch byte {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
            case UInt8(ascii: "\\"): guard readEscape(into: &text) else { return nil }
            case 0..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    private mutating func readEscape(into text: inout [UInt8]) -> Bool {
        switch next() {
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "r"): text.append(0x0D)
        case let byte? where byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "/"):
            text.append(byte)
        case UInt8(ascii: "u"):
            guard let unit = readHexUnit() else { return false }
            text.append(contentsOf: Character(scalar(from: unit)).utf8)
        default: return false
        }
        return true
    }

    /// A surrogate without its partner becomes U+FFFD, as it does when ECMAScript encodes the string as UTF-8.
    private mutating func scalar(from unit: UInt16) -> Unicode.Scalar {
        guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) ?? "\u{FFFD}" }
        let afterLead = position
        if next() == UInt8(ascii: "\\"), next() == UInt8(ascii: "u"), let trail = readHexUnit(),
            UTF16.isTrailSurrogate(trail)
        {
            return UTF16.decode(UTF16.EncodedScalar([unit, trail]))
        }
        position = afterLead
        return "\u{FFFD}"
    }

    private mutating func readHexUnit() -> UInt16? {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = next(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}
