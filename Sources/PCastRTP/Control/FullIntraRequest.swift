/// A request for a key frame of one or more streams (RFC 5104, section 4.3.1).
public struct FullIntraRequest: Hashable, Sendable {
    /// One stream asked for.
    public struct Entry: Hashable, Sendable {
        public var ssrc: UInt32
        /// Repeating a request repeats its number; only a new number is a new request (RTCP7).
        public var sequenceNumber: UInt8
    }

    public let senderSSRC: UInt32
    let offset: Int
    /// How many streams are asked for; the datagram's size bounds it.
    public let count: Int

    public func entry(_ index: Int, in datagram: Span<UInt8>) -> Entry {
        precondition(index >= 0 && index < count, "no such entry")
        let start = offset + index * 8
        return Entry(ssrc: datagram.bigEndian32(at: start), sequenceNumber: datagram[start + 4])
    }
}
