import PCastCore

/// A part of a description, as UTF-8 bytes because `\r\n` is one `Character`.
typealias SDPText = Substring.UTF8View

extension SDPText {
    /// The text as a string.
    var string: String { String(Substring(self)) }

    /// Returns the text before the first separator, and the text after it (nil if there is no separator).
    func divided(at separator: Unicode.Scalar) -> (head: SDPText, tail: SDPText?) {
        guard let index = firstIndex(of: UInt8(ascii: separator)) else { return (self, nil) }
        return (self[..<index], self[self.index(after: index)...])
    }

    /// The name and the value of an attribute line, without spaces around them. The value is nil if there is no colon.
    var attribute: (name: SDPText, value: SDPText?) {
        let (name, value) = divided(at: ":")
        return (name.trimmed, value?.trimmed)
    }

    /// Returns the parts between separators, without empty ones.
    func pieces(at separator: Unicode.Scalar) -> [SDPText] { split(separator: UInt8(ascii: separator)) }

    /// Returns the parts between spaces and tabs, without empty ones.
    func pieces() -> [SDPText] { split(whereSeparator: Self.isSpace) }

    /// The text without spaces and tabs around it.
    var trimmed: SDPText {
        guard let first = firstIndex(where: { !Self.isSpace($0) }),
            let last = lastIndex(where: { !Self.isSpace($0) })
        else { return self[endIndex...] }
        return self[first...last]
    }

    /// The part before the first space, and the rest (nil if there is none).
    var firstPiece: (head: SDPText, tail: SDPText?) {
        let text = trimmed
        guard let end = text.firstIndex(where: Self.isSpace) else { return (text, nil) }
        return (text[..<end], text[end...].trimmed)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    /// Returns the value of a number that consists of decimal digits only; nil if it does not or does not fit.
    func decimal<Number: FixedWidthInteger>(_: Number.Type = Number.self) -> Number? {
        guard !isEmpty else { return nil }
        var number: Number = 0
        for byte in self {
            guard (0x30...0x39).contains(byte) else { return nil }
            let (scaled, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, exceeds) = scaled.addingReportingOverflow(Number(truncatingIfNeeded: byte &- 0x30))
            guard !overflows, !exceeds else { return nil }
            number = sum
        }
        return number
    }

    /// The text if it is a token of visible ASCII characters (RFC 8866, section 9), which can be written between
    /// spaces; nil otherwise.
    var token: String? {
        guard !isEmpty, allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        return string
    }

    /// Returns whether the text equals an ASCII string.
    func matches(_ name: StaticString) -> Bool {
        elementsEqual(name.bytes)
    }
}

extension String {
    /// The string with ASCII letters in lower case, for comparing names of codecs and parameters.
    var asciiLowercased: String {
        String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
