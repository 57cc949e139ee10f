/// How a written header lies in its packet, so that what is known only as the packet leaves can be stamped (CC1).
public struct RTPHeaderLayout: Hashable, Sendable {
    /// Bytes of the whole header: where the payload begins.
    public internal(set) var size: Int
    /// Where the transport-wide sequence number lies, nil when it is not sent.
    public internal(set) var transportSequenceNumberOffset: Int?
    /// Where the absolute send time lies, nil when it is not sent.
    public internal(set) var absoluteSendTimeOffset: Int?

    /// Overwrites the two elements that say when and as which packet of the transport this one leaves; those that the
    /// packet does not have are passed over.
    public func stamp(
        transportSequenceNumber: UInt16, absoluteSendTime: AbsoluteSendTime,
        into packet: UnsafeMutableRawBufferPointer
    ) {
        if let offset = transportSequenceNumberOffset { packet.storeBigEndian(transportSequenceNumber, at: offset) }
        if let offset = absoluteSendTimeOffset { packet.storeBigEndian24(absoluteSendTime.rawValue, at: offset) }
    }
}
