/// A finite JSON number, which keeps its spelling.
public struct JSONNumber: Sendable {
    /// The number as in the JSON text.
    public let text: String

    /// Creates a number from text that is a valid JSON number and is finite as a `Double`.
    init(checked text: String) { self.text = text }

    /// Creates a number from an integer.
    public init(_ value: Int64) { text = String(value) }

    /// Creates a number, spelled as in ECMAScript: a whole number has no fraction. Returns nil for infinity and NaN,
    /// which JSON cannot express.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        text = Int64(exactly: value).map { String($0) } ?? value.description
    }

    /// The value as an integer; nil if it has a fraction or exceeds 64 bits.
    public var integer: Int64? { Int64(text) ?? Int64(exactly: value) }

    /// The value, rounded to a `Double`.
    public var value: Double { Double(text) ?? 0 }
}

/// Numbers are equal if their values are, regardless of the spelling.
extension JSONNumber: Hashable {
    /// Returns whether two numbers have the same value.
    public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        if left.text == right.text { return true }
        if let left = left.integer, let right = right.integer { return left == right }
        return left.value == right.value
    }

    /// Hashes the value, which is the same for all spellings.
    public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
