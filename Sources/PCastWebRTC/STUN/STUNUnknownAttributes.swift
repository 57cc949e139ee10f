/// The unknown attributes of a request that must be understood, for an error response 420 (RFC 8489, section 14.13).
///
/// It holds the first eight. A request with more is also rejected.
package struct STUNUnknownAttributes: Sendable {
    /// The maximum number of attributes.
    package static let capacity = 8

    private var types = InlineArray<8, UInt16>(repeating: 0)

    /// The number of attributes, at most ``capacity``.
    package private(set) var count = 0

    /// Creates an empty list.
    package init() {}

    /// Whether there are no attributes.
    package var isEmpty: Bool { count == 0 }

    /// The type of an attribute; the index must be less than ``count``.
    package subscript(index: Int) -> UInt16 {
        precondition(index < count)
        return types[index]
    }

    /// Adds an attribute, unless the list is full.
    mutating func append(_ type: UInt16) {
        guard count < Self.capacity else { return }
        types[count] = type
        count += 1
    }
}
