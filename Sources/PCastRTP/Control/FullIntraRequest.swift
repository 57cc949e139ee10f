/// A request for key frames of one or more streams (RFC 5104, section 4.3.1).
public struct FullIntraRequest: Hashable, Sendable {
    /// The request for one stream.
    public struct Entry: Hashable, Sendable {
        /// The SSRC of the stream.
        public var ssrc: UInt32
        /// The sequence number of the request. A repeated request has the same number.
        public var sequenceNumber: UInt8
    }

    /// The SSRC of the sender of the request.
    public let senderSSRC: UInt32
    /// The offset of the first entry in the datagram.
    let offset: Int
    /// The number of entries, which the size of the datagram limits.
    public let count: Int

    /// Returns an entry; the index must be less than ``count``.
    public func entry(_ index: Int, in datagram: Span<UInt8>) -> Entry {
        precondition(index >= 0 && index < count, "the entry does not exist")
        let start = offset + index * 8
        return Entry(ssrc: datagram.bigEndian32(at: start), sequenceNumber: datagram[start + 4])
    }
}
