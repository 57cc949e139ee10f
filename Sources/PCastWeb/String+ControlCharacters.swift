extension String {
    /// The text on one line without terminal control sequences. Control characters (Unicode C0 and C1), line and
    /// paragraph separators, and bidirectional controls are escaped, such as `\n` or `\u{1B}`.
    public var escapingControlCharacters: String { escapingControlCharacters(keeping: []) }

    /// Returns the text with control characters escaped, except those in `kept`.
    public func escapingControlCharacters(keeping kept: Set<Unicode.Scalar>) -> String {
        guard unicodeScalars.contains(where: { Self.isControl($0) && !kept.contains($0) }) else { return self }
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            guard Self.isControl(scalar), !kept.contains(scalar) else {
                text.append(scalar)
                continue
            }
            let escape =
                switch scalar {
                case "\n": "\\n"
                case "\r": "\\r"
                case "\t": "\\t"
                default: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
                }
            text.append(contentsOf: escape.unicodeScalars)
        }
        return String(text)
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
