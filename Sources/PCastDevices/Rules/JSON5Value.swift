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
            throw refusal("must be a number of quarter turns clockwise: 0, 1, 2 or 3")
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
