/// A value of JSON5, and the line on which it begins.
struct JSON5Value: Hashable, Sendable {
    enum Content: Hashable, Sendable {
        case null
        case boolean(Bool)
        case number(Double)
        case string(String)
        case array([JSON5Value])

        /// In the order of the text; no two of a name.
        case object([JSON5Member])
    }

    let content: Content
    let line: Int
}

/// What stands in an object of JSON5.
struct JSON5Member: Hashable, Sendable {
    let name: String

    /// Of the name.
    let line: Int
    let value: JSON5Value
}

/// Why a text is no JSON5, or not the one that is expected.
struct JSON5Error: Error, Hashable, Sendable {
    let line: Int
    let reason: String
}
