public import PCastMedia

extension DatagramPattern {
    /// What a receiver tells regularly and asks nothing by: receiver reports (RFC 3550, section 6.4.2), arrivals
    /// (transport-wide feedback) and estimates (REMB), by the first packet of their datagram.
    ///
    /// The first four bytes of a datagram stay in the clear when it is protected (RFC 3711, section 3.4). A request for a
    /// packet or a key frame is not among them where peers send it in a datagram of its own (RFC 5506), as is agreed on with
    /// whoever can.
    public static let reports = [
        DatagramPattern(mask: 0xC0FF, value: 0x8000 | UInt16(RTCPPacket.PacketType.receiverReport)),
        feedback(RTCPPacket.PacketType.transportLayerFeedback, RTCPPacket.FeedbackFormat.transportWide),
        feedback(RTCPPacket.PacketType.payloadSpecificFeedback, RTCPPacket.FeedbackFormat.applicationLayer),
    ]

    /// Version 2, padded or not, of a format (RFC 4585, section 6.1).
    private static func feedback(_ type: UInt8, _ format: UInt8) -> DatagramPattern {
        DatagramPattern(mask: 0xDFFF, value: 0x8000 | UInt16(format) << 8 | UInt16(type))
    }
}
