/// A piece of a description. Bytes and not characters, as `\r\n` is one character.
typealias SDPText = Substring.UTF8View

extension SDPText {
    var string: String { String(Substring(self)) }

    /// The text before the first `separator`, and the text after it (nil without one).
    func divided(at separator: Unicode.Scalar) -> (head: SDPText, tail: SDPText?) {
        guard let index = firstIndex(of: UInt8(ascii: separator)) else { return (self, nil) }
        return (self[..<index], self[self.index(after: index)...])
    }

    /// The name and the value of an `a=` line's text (the value is nil without a colon), without the spaces that some
    /// peers write around them.
    var attribute: (name: SDPText, value: SDPText?) {
        let (name, value) = divided(at: ":")
        return (name.trimmed, value?.trimmed)
    }

    /// The pieces between separators, empty ones left out.
    func pieces(at separator: Unicode.Scalar) -> [SDPText] { split(separator: UInt8(ascii: separator)) }

    /// The pieces between spaces and tabs, empty ones left out.
    func pieces() -> [SDPText] { split(whereSeparator: Self.isSpace) }

    /// Without spaces and tabs around it.
    var trimmed: SDPText {
        guard let first = firstIndex(where: { !Self.isSpace($0) }),
            let last = lastIndex(where: { !Self.isSpace($0) })
        else { return self[endIndex...] }
        return self[first...last]
    }

    /// The first piece between spaces, and what follows it (nil without anything).
    var firstPiece: (head: SDPText, tail: SDPText?) {
        let text = trimmed
        guard let end = text.firstIndex(where: Self.isSpace) else { return (text, nil) }
        return (text[..<end], text[end...].trimmed)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    /// The value of a number written in decimal digits only; nil when it does not fit.
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

    /// A token (RFC 8866, section 9): what may stand between spaces in our own text without changing its meaning.
    var token: String? {
        guard !isEmpty, allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        return string
    }

    func matches(_ name: StaticString) -> Bool {
        elementsEqual(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }
}

extension String {
    /// ASCII letters in lower case, other characters as they are: codec and parameter names compare so.
    var asciiLowercased: String {
        String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
