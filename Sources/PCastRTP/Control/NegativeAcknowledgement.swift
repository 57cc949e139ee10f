/// A generic NACK: the packets that a receiver asks for again (RFC 4585, section 6.2.1).
public struct NegativeAcknowledgement: Hashable, Sendable {
    public let senderSSRC: UInt32
    /// The stream that lost the packets (NACK8).
    public let mediaSSRC: UInt32
    /// Where the pairs of a packet number and a bitmask lie in the datagram.
    let range: Range<Int>

    /// The most numbers that are read of all NACKs in one datagram (NACK3).
    public static let maximumCountPerDatagram = 300

    /// Calls `body` with each number asked for, in the packet's order, while `budget` lasts, which it reduces. Start
    /// each datagram with `maximumCountPerDatagram`.
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
