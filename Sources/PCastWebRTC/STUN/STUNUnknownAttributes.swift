/// The comprehension-required attributes of a request that are not known here, for a 420 answer (RFC 8489, 14.13).
///
/// Holds the first eight; a request with more is refused all the same.
public struct STUNUnknownAttributes: Sendable {
    public static let capacity = 8

    private var types = InlineArray<8, UInt16>(repeating: 0)

    /// How many are listed; at most `capacity`.
    public private(set) var count = 0

    public init() {}

    public var isEmpty: Bool { count == 0 }

    public subscript(index: Int) -> UInt16 {
        precondition(index < count)
        return types[index]
    }

    /// Leaves the list as it is when it is full.
    mutating func append(_ type: UInt16) {
        guard count < Self.capacity else { return }
        types[count] = type
        count += 1
    }
}
