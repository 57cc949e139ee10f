/// A JSON5 parser (https://spec.json5.org): JSON with comments, unquoted names and trailing commas.
///
/// Foundation can parse JSON5, too, but it does not report the line of an error, which people who write the file need.
/// Infinity, NaN, escapes in unquoted names and duplicate names are rejected.
struct JSON5Reader {
    /// The largest depth. It exceeds that of valid files and does not exhaust the stack.
    private static let largestDepth = 16

    private let scalars: [Unicode.Scalar]
    private var index = 0
    private var line = 1

    /// Parses a whole text. Throws `JSON5Error`.
    static func read(_ text: String) throws(JSON5Error) -> JSON5Value {
        var reader = JSON5Reader(scalars: Array(text.unicodeScalars))
        let value = try reader.value(depth: 0)
        try reader.skipBlanks()
        guard let scalar = reader.peek else { return value }
        throw reader.refusal("expected the end of the text, found “\(scalar)”")
    }

    private init(scalars: [Unicode.Scalar]) { self.scalars = scalars }

    private mutating func value(depth: Int) throws(JSON5Error) -> JSON5Value {
        try skipBlanks()
        let start = line
        guard depth < Self.largestDepth else { throw refusal("brackets are nested too deeply") }
        guard let scalar = peek else { throw refusal("expected a value, found the end of the text") }
        let content: JSON5Value.Content =
            switch scalar {
            case "{": .object(try members(depth: depth))
            case "[": .array(try elements(depth: depth))
            case "\"", "'": .string(try string())
            case "0"..."9", "+", "-", ".": .number(try number())
            default: try word()
            }
        return JSON5Value(content: content, line: start)
    }

    private mutating func members(depth: Int) throws(JSON5Error) -> [JSON5Member] {
        var members: [JSON5Member] = []
        var names: Set<String> = []
        advance()
        while try !closes("}") {
            let start = line
            let name = peek == "\"" || peek == "'" ? try string() : try self.name()
            guard names.insert(name).inserted else { throw refusal("“\(name)” is duplicated") }
            try skipBlanks()
            guard peek == ":" else { throw refusal("expected “:” after “\(name)”") }
            advance()
            members.append(JSON5Member(name: name, line: start, value: try value(depth: depth + 1)))
            try separate(from: "}")
        }
        return members
    }

    private mutating func elements(depth: Int) throws(JSON5Error) -> [JSON5Value] {
        var elements: [JSON5Value] = []
        advance()
        while try !closes("]") {
            elements.append(try value(depth: depth + 1))
            try separate(from: "]")
        }
        return elements
    }

    /// Consumes the closing bracket of a list if it is next. Returns whether it was.
    private mutating func closes(_ bracket: Unicode.Scalar) throws(JSON5Error) -> Bool {
        try skipBlanks()
        guard peek == bracket else { return false }
        advance()
        return true
    }

    private mutating func separate(from bracket: Unicode.Scalar) throws(JSON5Error) {
        try skipBlanks()
        if peek == "," { return advance() }
        guard peek == bracket else { throw refusal("expected “,” or “\(bracket)”") }
    }

    private mutating func word() throws(JSON5Error) -> JSON5Value.Content {
        switch try name() {
        case "true": return .boolean(true)
        case "false": return .boolean(false)
        case "null": return .null
        case let other: throw refusal("“\(other)” is not a value: write strings in quotes")
        }
    }

    private mutating func name() throws(JSON5Error) -> String {
        let start = index
        while let scalar = peek, scalar.continuesName(isFirst: index == start) { advance() }
        guard index > start else {
            throw refusal(peek.map { "“\($0)” is unexpected" } ?? "the text ends too early")
        }
        return text(from: start)
    }
}

extension JSON5Reader {
    /// The next character; nil at the end.
    var peek: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

    var position: Int { index }

    func text(from start: Int) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: scalars[start..<index])
        return String(text)
    }

    func refusal(_ reason: String) -> JSON5Error { JSON5Error(line: line, reason: reason) }

    mutating func advance() {
        // A carriage return followed by a line feed is a single line ending.
        if scalars[index].endsLine, !(scalars[index] == "\r" && index + 1 < scalars.count && scalars[index + 1] == "\n")
        {
            line += 1
        }
        index += 1
    }

    /// Consumes a character if it is next. Returns whether it was.
    mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard peek == scalar else { return false }
        advance()
        return true
    }

    /// Skips white space and comments.
    mutating func skipBlanks() throws(JSON5Error) {
        while let scalar = peek {
            if scalar.properties.isWhitespace || scalar == "\u{FEFF}" {
                advance()
            } else if scalar == "/", index + 1 < scalars.count, scalars[index + 1] == "/" {
                while let next = peek, !next.endsLine { advance() }
            } else if scalar == "/", index + 1 < scalars.count, scalars[index + 1] == "*" {
                try skipComment()
            } else {
                return
            }
        }
    }

    private mutating func skipComment() throws(JSON5Error) {
        let start = line
        advance()
        advance()
        while let scalar = peek {
            advance()
            if scalar == "*", take("/") { return }
        }
        throw JSON5Error(line: start, reason: "a comment is not terminated")
    }
}

extension Unicode.Scalar {
    /// Whether it is a line terminator of ECMAScript.
    var endsLine: Bool { self == "\n" || self == "\r" || self == "\u{2028}" || self == "\u{2029}" }

    fileprivate func continuesName(isFirst: Bool) -> Bool {
        if self == "$" || self == "_" { return true }
        return isFirst ? properties.isIDStart : properties.isIDContinue
    }
}

extension JSON5Reader {
    /// Parses a string in single or double quotes.
    mutating func string() throws(JSON5Error) -> String {
        let quote = peek
        advance()
        var text = String.UnicodeScalarView()
        while let scalar = peek {
            if scalar == quote {
                advance()
                return String(text)
            }
            guard scalar != "\n", scalar != "\r" else { break }
            advance()
            if scalar == "\\" { try escape(into: &text) } else { text.append(scalar) }
        }
        throw refusal("a string is not terminated on its line")
    }

    /// Parses the text after a backslash.
    private mutating func escape(into text: inout String.UnicodeScalarView) throws(JSON5Error) {
        guard let scalar = peek else { throw refusal("a string is not terminated") }
        advance()
        switch scalar {
        case "b": text.append("\u{8}")
        case "f": text.append("\u{C}")
        case "n": text.append("\n")
        case "r": text.append("\r")
        case "t": text.append("\t")
        case "v": text.append("\u{B}")
        case "0": text.append("\0")
        case "x": text.append(try scalar16(digits: 2))
        case "u": text.append(try scalar16(digits: 4))
        case "1"..."9": throw refusal("“\\\(scalar)” is not a valid escape sequence")
        case "\r": _ = take("\n")
        case _ where scalar.endsLine: break
        default: text.append(scalar)
        }
    }

    /// Parses a character code. Characters beyond 16 bits are written as a surrogate pair.
    private mutating func scalar16(digits: Int) throws(JSON5Error) -> Unicode.Scalar {
        let high = try hexadecimal(digits: digits)
        if let scalar = Unicode.Scalar(high) { return scalar }
        guard high < 0xDC00, take("\\"), take("u") else { throw refusal("a string contains a lone surrogate") }
        let low = try hexadecimal(digits: 4)
        guard (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + low - 0xDC00)
        else { throw refusal("a string contains a lone surrogate") }
        return scalar
    }

    private mutating func hexadecimal(digits: Int) throws(JSON5Error) -> UInt32 {
        var number: UInt32 = 0
        for _ in 0..<digits {
            guard let digit = peek.flatMap({ Character($0).hexDigitValue }), peek?.isASCII == true else {
                throw refusal("expected \(digits) hexadecimal digits")
            }
            number = number << 4 + UInt32(digit)
            advance()
        }
        return number
    }

    /// Parses a decimal number with optional sign, point and exponent, or a hexadecimal number.
    mutating func number() throws(JSON5Error) -> Double {
        let start = position
        while let scalar = peek, scalar.isASCII, scalar.continuesNumber { advance() }
        let text = text(from: start)
        let digits = text.drop { $0 == "+" || $0 == "-" }
        let sign = text.hasPrefix("-") ? -1.0 : 1.0
        guard text.count - digits.count <= 1 else { throw refusal("“\(text)” is not a number") }
        if digits.hasPrefix("0x") || digits.hasPrefix("0X") {
            guard let number = UInt64(digits.dropFirst(2), radix: 16), digits.dropFirst(2).first != "+" else {
                throw refusal("“\(text)” is not a number")
            }
            return sign * Double(number)
        }
        let isPadded = digits.hasPrefix("0") && digits.dropFirst().first?.isNumber == true
        let decimals = digits.drop { $0.isNumber || $0 == "." }
        guard !isPadded, digits != ".", decimals.isEmpty || decimals.first == "e" || decimals.first == "E",
            let number = Double(Self.completed(digits)), number.isFinite
        else { throw refusal("“\(text)” is not a number") }
        return sign * number
    }

    /// Adds the digits that JSON5 allows to omit on one side of a point.
    private static func completed(_ digits: Substring) -> String {
        let parts = digits.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return String(digits) }
        let whole = parts[0].isEmpty ? "0" : parts[0]
        let fraction = parts[1].first?.isNumber == true ? parts[1] : "0" + parts[1]
        return "\(whole).\(fraction)"
    }
}

extension Unicode.Scalar {
    fileprivate var continuesNumber: Bool {
        switch self {
        case "0"..."9", "a"..."z", "A"..."Z", "+", "-", ".": true
        default: false
        }
    }
}

/// A JSON5 value and the line on which it starts.
struct JSON5Value: Hashable, Sendable {
    enum Content: Hashable, Sendable {
        case null
        case boolean(Bool)
        case number(Double)
        case string(String)
        case array([JSON5Value])

        /// Members in the order of the text, with unique names.
        case object([JSON5Member])
    }

    let content: Content
    let line: Int
}

/// A member of a JSON5 object.
struct JSON5Member: Hashable, Sendable {
    let name: String

    /// The line of the name.
    let line: Int
    let value: JSON5Value
}

/// The reason why a text is not valid JSON5 or not the expected one.
struct JSON5Error: Error, Hashable, Sendable {
    let line: Int
    let reason: String
}

extension JSON5Value {
    /// Returns the members of an object. `what` describes the expected object in the error. Throws `JSON5Error` for
    /// another value.
    func members(_ what: String) throws(JSON5Error) -> [JSON5Member] {
        guard case .object(let members) = content else {
            throw JSON5Error(line: line, reason: "\(what) must be an object, { }")
        }
        return members
    }
}

extension JSON5Member {
    func refusal(_ reason: String) -> JSON5Error { JSON5Error(line: line, reason: "“\(name)” \(reason)") }

    func unknown(_ accepted: [String]) -> JSON5Error {
        refusal("is unknown: use one of \(accepted.joined(separator: ", "))")
    }

    /// Returns the value as one of the accepted words. Throws `JSON5Error`.
    func word<Word: RawRepresentable<String>>(_ accepted: [Word]) throws(JSON5Error) -> Word {
        guard case .string(let text) = value.content, let word = accepted.first(where: { $0.rawValue == text }) else {
            throw refusal("must be one of \(accepted.map { "\"\($0.rawValue)\"" }.joined(separator: ", "))")
        }
        return word
    }

    func text() throws(JSON5Error) -> String {
        guard case .string(let text) = value.content, !text.isEmpty else { throw refusal("must be a string in quotes") }
        return text
    }

    func boolean() throws(JSON5Error) -> Bool {
        guard case .boolean(let flag) = value.content else { throw refusal("must be true or false") }
        return flag
    }

    /// Returns a rotation of 0, 90, 180 or 270 degrees as quarter turns. Throws `JSON5Error`.
    func quarterTurns() throws(JSON5Error) -> Int {
        guard case .number(let number) = value.content, let degrees = Int(exactly: number),
            [0, 90, 180, 270].contains(degrees)
        else {
            throw refusal("must be a clockwise rotation in degrees: 0, 90, 180 or 270")
        }
        return degrees / 90
    }

    /// Returns the value as a USB vendor or product ID in lower case. Throws `JSON5Error`.
    func hexadecimal() throws(JSON5Error) -> String {
        guard case .string(let text) = value.content, text.utf8.count == 4, UInt16(text, radix: 16) != nil,
            !text.hasPrefix("+")
        else { throw refusal("must be four hexadecimal digits in quotes, as lsusb prints them: \"046d\"") }
        return text.lowercased()
    }
}
