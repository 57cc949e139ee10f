/// The layout of a written header, which is needed to overwrite elements when the packet is sent.
package struct RTPHeaderLayout: Hashable, Sendable {
    /// The size of the header, and so the offset of the payload, in bytes.
    package internal(set) var size: Int
    /// The offset of the transport-wide sequence number; nil if it is not sent.
    package internal(set) var transportSequenceNumberOffset: Int?
    /// The offset of the absolute send time; nil if it is not sent.
    package internal(set) var absoluteSendTimeOffset: Int?

    /// Overwrites the transport-wide sequence number and the send time, as far as the packet contains them.
    package func stamp(
        transportSequenceNumber: UInt16, absoluteSendTime: AbsoluteSendTime,
        into packet: UnsafeMutableRawBufferPointer
    ) {
        if let offset = transportSequenceNumberOffset { packet.storeBigEndian(transportSequenceNumber, at: offset) }
        if let offset = absoluteSendTimeOffset { packet.storeBigEndian24(absoluteSendTime.rawValue, at: offset) }
    }
}
