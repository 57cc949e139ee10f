/// The payload of a retransmission stream (RTX), which begins with the original sequence number (RFC 4588, section 4).
package enum RTXEncapsulation {
    /// The content of a packet of the stream.
    package enum Content: Hashable, Sendable {
        /// A packet of the original stream; `payload` is the range of the original payload.
        case packet(originalSequenceNumber: UInt16, payload: Range<Int>)
        /// Padding of a bandwidth probe.
        case probe
    }

    /// The number of bytes before the original payload.
    package static let headerSize = 2

    /// Returns the content of a packet with a range of the payload. A payload of less than two bytes is a probe.
    package static func decapsulate(_ packet: Span<UInt8>, payload range: Range<Int>) -> Content {
        guard range.count >= headerSize, range.upperBound <= packet.count else { return .probe }
        return .packet(
            originalSequenceNumber: packet.bigEndian16(at: range.lowerBound),
            payload: range.lowerBound + headerSize..<range.upperBound)
    }
}
