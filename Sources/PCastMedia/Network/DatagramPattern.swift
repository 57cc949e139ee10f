/// What datagrams of a kind begin with: their first two bytes, as far as a mask looks at them.
public struct DatagramPattern: Hashable, Sendable {
    /// The bits that are compared; the first byte is the upper one.
    public let mask: UInt16
    /// What they are.
    public let value: UInt16

    /// - Precondition: `value` has no bit that `mask` does not have; nothing would be of the kind.
    public init(mask: UInt16, value: UInt16) {
        precondition(value & ~mask == 0, "a pattern that nothing can be of")
        self.mask = mask
        self.value = value
    }

    /// Whether a datagram is of the kind; one that is shorter than two bytes is not.
    public func matches(_ datagram: Span<UInt8>) -> Bool {
        datagram.count > 1 && (UInt16(datagram[0]) << 8 | UInt16(datagram[1])) & mask == value
    }
}
