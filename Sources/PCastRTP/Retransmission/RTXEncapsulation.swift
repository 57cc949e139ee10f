/// A retransmission stream: its own SSRC and numbers, each payload led by the number of the packet it repeats
/// (RFC 4588, section 4; NACK5).
public struct RTXEncapsulation: Sendable {
    /// What a packet of a retransmission stream carries.
    public enum Content: Hashable, Sendable {
        /// A packet of the original stream: its number, and where its payload lies.
        case packet(originalSequenceNumber: UInt16, payload: Range<Int>)
        /// Padding that measures the path.
        case probe
    }

    /// Bytes ahead of the original payload.
    public static let headerSize = 2

    public let ssrc: UInt32

    /// The number that the next packet gets.
    public private(set) var sequenceNumber: UInt16

    /// `sequenceNumber` is the first packet's, by chance (RFC 3550, section 5.1).
    public init(ssrc: UInt32, sequenceNumber: UInt16) {
        self.ssrc = ssrc
        self.sequenceNumber = sequenceNumber
    }

    /// The header for repeating a packet of the original stream, whose timestamp and marker it keeps. `payloadType`
    /// is the one whose `apt` is the original's.
    public mutating func header(repeating original: RTPHeader, payloadType: UInt8) -> RTPHeader {
        defer { sequenceNumber &+= 1 }
        return RTPHeader(
            marker: original.marker, payloadType: payloadType, sequenceNumber: sequenceNumber,
            timestamp: original.timestamp, ssrc: ssrc)
    }

    /// The header of a probe of `paddingSize` bytes, 1...255, without payload.
    public mutating func probeHeader(payloadType: UInt8, timestamp: UInt32, paddingSize: Int) -> RTPHeader {
        precondition((1...255).contains(paddingSize), "padding is 1 to 255 bytes")
        defer { sequenceNumber &+= 1 }
        return RTPHeader(
            payloadType: payloadType, sequenceNumber: sequenceNumber, timestamp: timestamp, ssrc: ssrc,
            paddingSize: paddingSize)
    }

    /// Writes the payload at the buffer's start and answers its size.
    public static func writePayload(
        originalSequenceNumber: UInt16, payload: UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        precondition(headerSize + payload.count <= buffer.count, "no room for the retransmission")
        buffer.storeBigEndian(originalSequenceNumber, at: 0)
        UnsafeMutableRawBufferPointer(rebasing: buffer[headerSize..<headerSize + payload.count])
            .copyMemory(from: payload)
        return headerSize + payload.count
    }

    /// What the payload at `range` of a packet holds. Fewer bytes than a number has are a probe.
    public static func decapsulate(_ packet: Span<UInt8>, payload range: Range<Int>) -> Content {
        guard range.count >= headerSize, range.upperBound <= packet.count else { return .probe }
        return .packet(
            originalSequenceNumber: packet.bigEndian16(at: range.lowerBound),
            payload: range.lowerBound + headerSize..<range.upperBound)
    }
}
