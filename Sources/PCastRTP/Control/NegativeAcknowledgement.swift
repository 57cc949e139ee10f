/// A generic NACK, which requests the retransmission of packets (RFC 4585, section 6.2.1).
public struct NegativeAcknowledgement: Hashable, Sendable {
    /// The SSRC of the sender of the NACK.
    public let senderSSRC: UInt32
    /// The SSRC of the stream with the lost packets.
    public let mediaSSRC: UInt32
    /// The range of the pairs of packet ID and bitmask in the datagram.
    let range: Range<Int>

    /// The maximum number of sequence numbers that are read from all NACKs in a datagram.
    public static let maximumCountPerDatagram = 300

    /// Calls a function with each requested sequence number, in the order of the message.
    ///
    /// - Parameters:
    ///   - datagram: The bytes of the datagram.
    ///   - budget: The number of sequence numbers that may still be read. It is decreased, and begins with
    ///     ``maximumCountPerDatagram`` for each datagram.
    ///   - body: The function.
    public func forEach(in datagram: Span<UInt8>, budget: inout Int, _ body: (UInt16) -> Void) {
        for offset in stride(from: range.lowerBound, to: range.upperBound - 3, by: 4) {
            let first = datagram.bigEndian16(at: offset)
            var mask = UInt32(datagram.bigEndian16(at: offset + 2)) << 1 | 1
            while mask != 0 {
                guard budget > 0 else { return }
                budget -= 1
                body(first &+ UInt16(mask.trailingZeroBitCount))
                mask &= mask - 1
            }
        }
    }
}
