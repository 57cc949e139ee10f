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
