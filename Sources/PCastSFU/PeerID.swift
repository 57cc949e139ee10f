/// The number of a publisher or viewer, assigned by the caller that admits it.
public struct PeerID: Hashable, Sendable {
    /// The number.
    public let value: UInt64

    /// Creates an identifier from a number that no other peer of the SFU has.
    public init(_ value: UInt64) { self.value = value }
}
