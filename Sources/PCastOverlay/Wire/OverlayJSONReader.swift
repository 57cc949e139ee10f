/// Reads JSON (RFC 8259) strictly and within bounds: so deep, so many values, each name of an object once, no half of a
/// surrogate pair.
struct OverlayJSONReader {
    static let deepest = 16
    static let mostValues = 4_096

    private let bytes: [UInt8]
    private var place = 0
    private var depth = 0
    private var count = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func readAll() throws(OverlayWireError) -> OverlayJSON {
        let value = try read()
        skipSpace()
        guard place == bytes.count else { throw malformed }
        return value
    }

    private var malformed: OverlayWireError { .malformed(at: place) }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { place += 1 }
    }

    private mutating func take(_ byte: Character) throws(OverlayWireError) {
        guard next == byte.asciiValue else { throw malformed }
        place += 1
    }

    private mutating func take(word: StaticString) throws(OverlayWireError) {
        let end = place + word.utf8CodeUnitCount
        guard end <= bytes.count else { throw malformed }
        for index in 0..<word.utf8CodeUnitCount where bytes[place + index] != word.utf8Start[index] { throw malformed }
        place = end
    }

    private mutating func read() throws(OverlayWireError) -> OverlayJSON {
        skipSpace()
        count += 1
        guard count <= Self.mostValues else { throw .tooManyValues }
        switch next {
        case UInt8(ascii: "{"): return try readObject()
        case UInt8(ascii: "["): return try readArray()
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "t"):
            try take(word: "true")
            return .boolean(true)
        case UInt8(ascii: "f"):
            try take(word: "false")
            return .boolean(false)
        case UInt8(ascii: "n"):
            try take(word: "null")
            return .null
        default: return try readNumber()
        }
    }

    private mutating func enter() throws(OverlayWireError) {
        place += 1
        depth += 1
        guard depth <= Self.deepest else { throw .tooDeep }
    }

    private mutating func leave() {
        place += 1
        depth -= 1
    }

    private mutating func readArray() throws(OverlayWireError) -> OverlayJSON {
        try enter()
        var values: [OverlayJSON] = []
        skipSpace()
        if next != UInt8(ascii: "]") {
            while true {
                values.append(try read())
                skipSpace()
                if next == UInt8(ascii: "]") { break }
                try take(",")
            }
        }
        leave()
        return .array(values)
    }

    private mutating func readObject() throws(OverlayWireError) -> OverlayJSON {
        try enter()
        var members: [String: OverlayJSON] = [:]
        skipSpace()
        if next != UInt8(ascii: "}") {
            while true {
                skipSpace()
                guard next == UInt8(ascii: "\"") else { throw malformed }
                let start = place
                let name = try readString()
                skipSpace()
                try take(":")
                let value = try read()
                guard members.updateValue(value, forKey: name) == nil else { throw .malformed(at: start) }
                skipSpace()
                if next == UInt8(ascii: "}") { break }
                try take(",")
            }
        }
        leave()
        return .object(members)
    }

    // MARK: Numbers

    private mutating func skipDigits() throws(OverlayWireError) {
        let start = place
        while let byte = next, (0x30...0x39).contains(byte) { place += 1 }
        guard place > start else { throw malformed }
    }

    private mutating func readNumber() throws(OverlayWireError) -> OverlayJSON {
        let start = place
        if next == UInt8(ascii: "-") { place += 1 }
        if next == UInt8(ascii: "0") { place += 1 } else { try skipDigits() }
        var isWhole = true
        if next == UInt8(ascii: ".") {
            isWhole = false
            place += 1
            try skipDigits()
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            isWhole = false
            place += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { place += 1 }
            try skipDigits()
        }
        // So many digits no number needs, and they would take long to be read.
        guard place - start <= 64 else { throw .malformed(at: start) }
        let text = String(decoding: bytes[start..<place], as: UTF8.self)
        if isWhole, let integer = Int64(text) { return .integer(integer) }
        guard let number = Double(text), number.isFinite else { throw .malformed(at: start) }
        return .number(number)
    }

    // MARK: Strings

    private mutating func readString() throws(OverlayWireError) -> String {
        place += 1
        var units: [UInt8] = []
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                place += 1
                guard let string = String(validating: units, as: UTF8.self) else { throw malformed }
                return string
            case UInt8(ascii: "\\"): try readEscape(&units)
            case 0..<0x20: throw malformed
            default:
                units.append(byte)
                place += 1
            }
        }
        throw malformed
    }

    private mutating func readEscape(_ units: inout [UInt8]) throws(OverlayWireError) {
        place += 1
        guard let byte = next else { throw malformed }
        place += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): units.append(byte)
        case UInt8(ascii: "b"): units.append(0x08)
        case UInt8(ascii: "f"): units.append(0x0C)
        case UInt8(ascii: "n"): units.append(0x0A)
        case UInt8(ascii: "r"): units.append(0x0D)
        case UInt8(ascii: "t"): units.append(0x09)
        case UInt8(ascii: "u"):
            var code = try readHexadecimal()
            if (0xD800...0xDBFF).contains(code) {
                try take("\\")
                try take("u")
                let low = try readHexadecimal()
                guard (0xDC00...0xDFFF).contains(low) else { throw malformed }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(code) else { throw malformed }
            units.append(contentsOf: String(Character(scalar)).utf8)
        default:
            place -= 1
            throw malformed
        }
    }

    private mutating func readHexadecimal() throws(OverlayWireError) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
                throw malformed
            }
            code = code << 4 | UInt32(digit)
            place += 1
        }
        return code
    }
}
