/// A packet of an RTCP datagram. The cases contain numbers and offsets, and refer to data in the same datagram.
public enum RTCPPacket: Hashable, Sendable {
    /// A sender report (RFC 3550, section 6.4.1).
    case senderReport(SenderInformation, ReportBlocks)
    /// A receiver report (RFC 3550, section 6.4.2).
    case receiverReport(ssrc: UInt32, ReportBlocks)
    /// A BYE (RFC 3550, section 6.6).
    case goodbye(Goodbye)
    /// A generic NACK (RFC 4585, section 6.2.1).
    case negativeAcknowledgement(NegativeAcknowledgement)
    /// A Picture Loss Indication, which requests a key frame (RFC 4585, section 6.3.1).
    case pictureLossIndication(senderSSRC: UInt32, mediaSSRC: UInt32)
    /// A Full Intra Request (RFC 5104, section 4.3.1).
    case fullIntraRequest(FullIntraRequest)
    /// A REMB message (draft-alvestrand-rmcat-remb-03).
    case receiverEstimatedBitrate(ReceiverEstimatedBitrate)
    /// Transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01).
    case transportFeedback(TransportFeedback)
    /// A message about pausing streams (RFC 7728).
    case pauseResume(PauseResume)
    /// An extended report (RFC 3611).
    case extendedReport(ExtendedReport)
    /// A publisher's report about itself.
    case publisherReport(PublisherReport)
    /// A packet of another type, or with a body that is too short. Source descriptions (RFC 3550, section 6.5) are
    /// among them, because their names are not used: streams are identified by the session description.
    case unknown(type: UInt8)

    /// The packet types of RFC 3550, RFC 4585 and RFC 3611.
    enum PacketType {
        static let senderReport: UInt8 = 200
        static let receiverReport: UInt8 = 201
        static let sourceDescription: UInt8 = 202
        static let goodbye: UInt8 = 203
        static let application: UInt8 = 204
        static let transportLayerFeedback: UInt8 = 205
        static let payloadSpecificFeedback: UInt8 = 206
        static let extendedReport: UInt8 = 207
    }

    /// The formats of feedback messages, which distinguish messages of the two feedback types.
    enum FeedbackFormat {
        static let negativeAcknowledgement: UInt8 = 1
        static let pauseResume: UInt8 = 9
        static let transportWide: UInt8 = 15
        static let pictureLossIndication: UInt8 = 1
        static let fullIntraRequest: UInt8 = 4
        static let applicationLayer: UInt8 = 15
    }

    /// Parses a packet. `body` is the range after the header without padding, and `count` the low five bits of the
    /// first byte.
    init(type: UInt8, count: UInt8, body: Range<Int>, in datagram: Span<UInt8>) {
        let packet =
            switch type {
            case PacketType.senderReport: Self.senderReport(count, body, in: datagram)
            case PacketType.receiverReport: Self.receiverReport(count, body, in: datagram)
            case PacketType.goodbye: Self.goodbye(count, body)
            case PacketType.transportLayerFeedback: Self.transportLayerFeedback(count, body, in: datagram)
            case PacketType.payloadSpecificFeedback: Self.payloadSpecificFeedback(count, body, in: datagram)
            case PacketType.extendedReport: Self.extendedReport(body, in: datagram)
            case PacketType.application:
                PublisherReport(in: datagram, body: body).map(RTCPPacket.publisherReport)
            default: RTCPPacket.unknown(type: type)
            }
        self = packet ?? .unknown(type: type)
    }

    private static func senderReport(_ count: UInt8, _ body: Range<Int>, in datagram: Span<UInt8>) -> RTCPPacket? {
        guard let blocks = reportBlocks(count, body.dropFirst(SenderInformation.size)) else { return nil }
        return .senderReport(SenderInformation(in: datagram, at: body.lowerBound), blocks)
    }

    private static func receiverReport(_ count: UInt8, _ body: Range<Int>, in datagram: Span<UInt8>) -> RTCPPacket? {
        guard let blocks = reportBlocks(count, body.dropFirst(4)) else { return nil }
        return .receiverReport(ssrc: datagram.bigEndian32(at: body.lowerBound), blocks)
    }

    /// Returns the report blocks; nil if they are truncated.
    private static func reportBlocks(_ count: UInt8, _ range: Range<Int>?) -> ReportBlocks? {
        guard let range, range.count >= Int(count) * ReportBlock.size else { return nil }
        return ReportBlocks(offset: range.lowerBound, count: Int(count))
    }

    private static func goodbye(_ count: UInt8, _ body: Range<Int>) -> RTCPPacket? {
        guard body.count >= 4 * Int(count) else { return nil }
        return .goodbye(Goodbye(offset: body.lowerBound, count: Int(count)))
    }

    private static func extendedReport(_ body: Range<Int>, in datagram: Span<UInt8>) -> RTCPPacket? {
        guard let blocks = body.dropFirst(4) else { return nil }
        return .extendedReport(
            ExtendedReport(senderSSRC: datagram.bigEndian32(at: body.lowerBound), range: blocks))
    }

    private static func transportLayerFeedback(
        _ format: UInt8, _ body: Range<Int>, in datagram: Span<UInt8>
    ) -> RTCPPacket? {
        guard let information = body.dropFirst(8) else { return nil }
        switch format {
        case FeedbackFormat.negativeAcknowledgement:
            return .negativeAcknowledgement(
                NegativeAcknowledgement(
                    senderSSRC: datagram.bigEndian32(at: body.lowerBound),
                    mediaSSRC: datagram.bigEndian32(at: body.lowerBound + 4), range: information))
        case FeedbackFormat.pauseResume:
            return .pauseResume(
                PauseResume(senderSSRC: datagram.bigEndian32(at: body.lowerBound), range: information))
        case FeedbackFormat.transportWide:
            return TransportFeedback(in: datagram, body: body).map(RTCPPacket.transportFeedback)
        default: return nil
        }
    }

    private static func payloadSpecificFeedback(
        _ format: UInt8, _ body: Range<Int>, in datagram: Span<UInt8>
    ) -> RTCPPacket? {
        guard let information = body.dropFirst(8) else { return nil }
        let senderSSRC = datagram.bigEndian32(at: body.lowerBound)
        switch format {
        case FeedbackFormat.pictureLossIndication:
            return .pictureLossIndication(
                senderSSRC: senderSSRC, mediaSSRC: datagram.bigEndian32(at: body.lowerBound + 4))
        case FeedbackFormat.fullIntraRequest:
            return .fullIntraRequest(
                FullIntraRequest(
                    senderSSRC: senderSSRC, offset: information.lowerBound, count: information.count / 8))
        case FeedbackFormat.applicationLayer:
            return ReceiverEstimatedBitrate(in: datagram, body: body).map(RTCPPacket.receiverEstimatedBitrate)
        default: return nil
        }
    }
}

extension Range<Int> {
    /// Returns the range without its first `size` numbers; nil if it has fewer.
    fileprivate func dropFirst(_ size: Int) -> Range<Int>? {
        count >= size ? lowerBound + size..<upperBound : nil
    }
}
