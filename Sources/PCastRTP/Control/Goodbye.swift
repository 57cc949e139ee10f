/// A BYE packet: the sources that leave. It does not end the connection (RFC 3550, section 6.6).
public struct Goodbye: Hashable, Sendable {
    /// The offset of the first SSRC in the datagram.
    let offset: Int
    /// The number of sources, 0 to 31.
    public let count: Int

    /// Returns an SSRC; the index must be less than ``count``.
    public func ssrc(_ index: Int, in datagram: Span<UInt8>) -> UInt32 {
        precondition(index >= 0 && index < count, "the source does not exist")
        return datagram.bigEndian32(at: offset + index * 4)
    }
}
