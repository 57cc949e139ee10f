public import PCastCore

extension DatagramPattern {
    /// The patterns of datagrams with regular reports: receiver reports (RFC 3550, section 6.4.2), transport-wide
    /// feedback and REMB, by the first packet of the datagram.
    ///
    /// The first four bytes of SRTCP are not encrypted (RFC 3711, section 3.4). Requests for packets and key frames do
    /// not match, if peers send them in datagrams of their own (RFC 5506), which is negotiated where possible.
    public static let reports = [
        DatagramPattern(mask: 0xC0FF, value: 0x8000 | UInt16(RTCPPacket.PacketType.receiverReport)),
        feedback(RTCPPacket.PacketType.transportLayerFeedback, RTCPPacket.FeedbackFormat.transportWide),
        feedback(RTCPPacket.PacketType.payloadSpecificFeedback, RTCPPacket.FeedbackFormat.applicationLayer),
    ]

    /// Returns the pattern of a feedback message: version 2, with or without padding (RFC 4585, section 6.1).
    private static func feedback(_ type: UInt8, _ format: UInt8) -> DatagramPattern {
        DatagramPattern(mask: 0xDFFF, value: 0x8000 | UInt16(format) << 8 | UInt16(type))
    }
}
