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
