extension JSON5Value {
    /// - Parameter what: what an object is expected to be, for people.
    func members(_ what: String) throws(JSON5Error) -> [JSON5Member] {
        guard case .object(let members) = content else {
            throw JSON5Error(line: line, reason: "\(what) is an object, { }")
        }
        return members
    }
}

extension JSON5Member {
    func refusal(_ reason: String) -> JSON5Error { JSON5Error(line: line, reason: "“\(name)” \(reason)") }

    func unknown(_ accepted: [String]) -> JSON5Error {
        refusal("means nothing here: there are \(accepted.joined(separator: ", "))")
    }

    /// One of some words.
    func word<Word: RawRepresentable<String>>(_ accepted: [Word]) throws(JSON5Error) -> Word {
        guard case .string(let text) = value.content, let word = accepted.first(where: { $0.rawValue == text }) else {
            throw refusal("takes one of \(accepted.map { "\"\($0.rawValue)\"" }.joined(separator: ", "))")
        }
        return word
    }

    func text() throws(JSON5Error) -> String {
        guard case .string(let text) = value.content, !text.isEmpty else { throw refusal("takes a text in quotes") }
        return text
    }

    func boolean() throws(JSON5Error) -> Bool {
        guard case .boolean(let flag) = value.content else { throw refusal("takes true or false") }
        return flag
    }

    /// Quarter turns.
    func turns() throws(JSON5Error) -> Int {
        guard case .number(let number) = value.content, let turns = Int(exactly: number), (0...3).contains(turns) else {
            throw refusal("takes a number of quarter turns clockwise: 0, 1, 2 or 3")
        }
        return turns
    }

    /// What USB calls a vendor or a product, in lower case.
    func hexadecimal() throws(JSON5Error) -> String {
        guard case .string(let text) = value.content, text.utf8.count == 4, UInt16(text, radix: 16) != nil,
            !text.hasPrefix("+")
        else { throw refusal("takes four hexadecimal digits in quotes, as lsusb shows them: \"046d\"") }
        return text.lowercased()
    }
}
