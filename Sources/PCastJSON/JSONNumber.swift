/// A number of JSON as it was written; finite.
public struct JSONNumber: Sendable {
    /// As JSON writes it.
    public let text: String

    /// - Parameter text: what the grammar of JSON calls a number, and is one that a `Double` can hold.
    init(checked text: String) { self.text = text }

    public init(_ value: Int64) { text = String(value) }

    /// Whole numbers without a fraction, as ECMAScript writes them. Nil for what has no number in JSON: infinite, or none.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        text = Int64(exactly: value).map { String($0) } ?? value.description
    }

    /// Nil for what is no whole number that 64 bits hold.
    public var integer: Int64? { Int64(text) ?? Int64(exactly: value) }

    public var value: Double { Double(text) ?? 0 }
}

/// Whether they are the same number, however it is written.
extension JSONNumber: Hashable {
    public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        if left.text == right.text { return true }
        if let left = left.integer, let right = right.integer { return left == right }
        return left.value == right.value
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
