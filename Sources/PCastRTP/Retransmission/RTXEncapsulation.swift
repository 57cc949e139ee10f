/// A retransmission stream (RTX): it has its own SSRC and sequence numbers, and each payload begins with the original
/// sequence number (RFC 4588, section 4).
public struct RTXEncapsulation: Sendable {
    /// The content of a packet of the stream.
    public enum Content: Hashable, Sendable {
        /// A packet of the original stream; `payload` is the range of the original payload.
        case packet(originalSequenceNumber: UInt16, payload: Range<Int>)
        /// Padding of a bandwidth probe.
        case probe
    }

    /// The number of bytes before the original payload.
    public static let headerSize = 2

    /// The SSRC of the retransmission stream.
    public let ssrc: UInt32

    /// The sequence number of the next packet.
    public private(set) var sequenceNumber: UInt16

    /// Creates a stream; the first sequence number should be random (RFC 3550, section 5.1).
    public init(ssrc: UInt32, sequenceNumber: UInt16) {
        self.ssrc = ssrc
        self.sequenceNumber = sequenceNumber
    }

    /// Returns the header of the retransmission of a packet, with its timestamp and marker. `payloadType` is the one
    /// whose parameter `apt` is the original payload type.
    public mutating func header(repeating original: RTPHeader, payloadType: UInt8) -> RTPHeader {
        defer { sequenceNumber &+= 1 }
        return RTPHeader(
            marker: original.marker, payloadType: payloadType, sequenceNumber: sequenceNumber,
            timestamp: original.timestamp, ssrc: ssrc)
    }

    /// Returns the header of a probe with 1 to 255 bytes of padding and without payload.
    public mutating func probeHeader(payloadType: UInt8, timestamp: UInt32, paddingSize: Int) -> RTPHeader {
        precondition((1...255).contains(paddingSize), "padding must be 1 to 255 bytes")
        defer { sequenceNumber &+= 1 }
        return RTPHeader(
            payloadType: payloadType, sequenceNumber: sequenceNumber, timestamp: timestamp, ssrc: ssrc,
            paddingSize: paddingSize)
    }

    /// Writes the payload of a retransmission at the beginning of a buffer, and returns its size.
    public static func writePayload(
        originalSequenceNumber: UInt16, payload: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        precondition(headerSize + payload.count <= buffer.count, "the buffer is too small for the retransmission")
        buffer.storeBigEndian(originalSequenceNumber, at: 0)
        UnsafeMutableRawBufferPointer(rebasing: buffer[headerSize..<headerSize + payload.count])
            .copyMemory(from: payload)
        return headerSize + payload.count
    }

    /// Returns the content of a packet with a range of the payload. A payload of less than two bytes is a probe.
    public static func decapsulate(_ packet: Span<UInt8>, payload range: Range<Int>) -> Content {
        guard range.count >= headerSize, range.upperBound <= packet.count else { return .probe }
        return .packet(
            originalSequenceNumber: packet.bigEndian16(at: range.lowerBound),
            payload: range.lowerBound + headerSize..<range.upperBound)
    }
}
