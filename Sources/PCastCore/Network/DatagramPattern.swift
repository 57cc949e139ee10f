/// A kind of datagram, recognized by the masked value of its first two bytes.
public struct DatagramPattern: Hashable, Sendable {
    /// The bits to compare. The first byte is the upper one.
    public let mask: UInt16
    /// The required value of these bits.
    public let value: UInt16

    /// Creates a pattern. Traps if `value` has a bit that `mask` does not have, because no datagram would match.
    public init(mask: UInt16, value: UInt16) {
        precondition(value & ~mask == 0, "the pattern must be satisfiable")
        self.mask = mask
        self.value = value
    }

    /// Returns whether a datagram matches. A datagram of less than two bytes does not.
    public func matches(_ datagram: Span<UInt8>) -> Bool {
        datagram.count > 1 && (UInt16(datagram[0]) << 8 | UInt16(datagram[1])) & mask == value
    }
}
