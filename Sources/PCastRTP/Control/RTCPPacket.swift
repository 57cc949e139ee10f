public import PCastCore

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

/// A BYE packet: the sources that leave. It does not end the connection (RFC 3550, section 6.6).
public struct Goodbye: Hashable, Sendable {
    /// The offset of the first SSRC in the datagram.
    let offset: Int
    /// The number of sources, 0 to 31.
    public let count: Int

    /// Returns an SSRC; the index must be less than ``count``.
    public func ssrc(_ index: Int, in datagram: Span<UInt8>) -> UInt32 {
        precondition(index >= 0 && index < count, "the source does not exist")
        return datagram.bigEndian32(at: offset + index * 4)
    }
}

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

/// The report blocks of a sender or receiver report in a datagram.
public struct ReportBlocks: Hashable, Sendable {
    /// The offset of the first block in the datagram.
    let offset: Int
    /// The number of blocks, 0 to 31.
    public let count: Int

    /// Returns a block; the index must be less than ``count``.
    public func block(_ index: Int, in datagram: Span<UInt8>) -> ReportBlock {
        precondition(index >= 0 && index < count, "the report block does not exist")
        return ReportBlock(in: datagram, at: offset + index * ReportBlock.size)
    }

    /// Returns the block about a stream; nil if there is none.
    public func block(about ssrc: UInt32, in datagram: Span<UInt8>) -> ReportBlock? {
        for index in 0..<count where datagram.bigEndian32(at: offset + index * ReportBlock.size) == ssrc {
            return block(index, in: datagram)
        }
        return nil
    }
}

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

/// A generic NACK, which requests the retransmission of packets (RFC 4585, section 6.2.1).
public struct NegativeAcknowledgement: Hashable, Sendable {
    /// The SSRC of the sender of the NACK.
    public let senderSSRC: UInt32
    /// The SSRC of the stream with the lost packets.
    public let mediaSSRC: UInt32
    /// The range of the pairs of packet ID and bitmask in the datagram.
    let range: Range<Int>

    /// The maximum number of sequence numbers that are read from all NACKs in a datagram.
    public static let maximumCountPerDatagram = 300

    /// Calls a function with each requested sequence number, in the order of the message.
    ///
    /// - Parameters:
    ///   - datagram: The bytes of the datagram.
    ///   - budget: The number of sequence numbers that may still be read. It is decreased, and begins with
    ///     ``maximumCountPerDatagram`` for each datagram.
    ///   - body: The function.
    public func forEach(in datagram: Span<UInt8>, budget: inout Int, _ body: (UInt16) -> Void) {
        for offset in stride(from: range.lowerBound, to: range.upperBound - 3, by: 4) {
            let first = datagram.bigEndian16(at: offset)
            var mask = UInt32(datagram.bigEndian16(at: offset + 2)) << 1 | 1
            while mask != 0 {
                guard budget > 0 else { return }
                budget -= 1
                body(first &+ UInt16(mask.trailingZeroBitCount))
                mask &= mask - 1
            }
        }
    }
}

/// The sender information of a sender report (RFC 3550, section 6.4.1).
public struct SenderInformation: Hashable, Sendable {
    /// The SSRC of the sender.
    public var ssrc: UInt32
    /// The wall-clock time of the report, as a 64-bit NTP timestamp.
    public var ntpTimestamp: UInt64
    /// The RTP timestamp that corresponds to the same time.
    public var rtpTimestamp: UInt32
    /// The number of packets sent, modulo 2^32.
    public var packetCount: UInt32
    /// The number of payload bytes sent, without headers and padding, modulo 2^32.
    public var octetCount: UInt32

    /// The size in bytes, including the SSRC.
    static let size = 24

    /// Creates sender information.
    public init(ssrc: UInt32, ntpTimestamp: UInt64, rtpTimestamp: UInt32, packetCount: UInt32, octetCount: UInt32) {
        self.ssrc = ssrc
        self.ntpTimestamp = ntpTimestamp
        self.rtpTimestamp = rtpTimestamp
        self.packetCount = packetCount
        self.octetCount = octetCount
    }

    /// Parses sender information at an offset.
    init(in datagram: Span<UInt8>, at offset: Int) {
        ssrc = datagram.bigEndian32(at: offset)
        ntpTimestamp = datagram.bigEndian64(at: offset + 4)
        rtpTimestamp = datagram.bigEndian32(at: offset + 12)
        packetCount = datagram.bigEndian32(at: offset + 16)
        octetCount = datagram.bigEndian32(at: offset + 20)
    }

    /// The middle 32 bits of the NTP timestamp, which identify the report in report blocks.
    public var compactTimestamp: UInt32 { UInt32(truncatingIfNeeded: ntpTimestamp >> 16) }
}

/// A report block: the reception of one stream (RFC 3550, section 6.4.1).
public struct ReportBlock: Hashable, Sendable {
    /// The SSRC of the stream.
    public var ssrc: UInt32
    /// The fraction of packets lost since the last report, in 1/256.
    public var fractionLost: UInt8
    /// The number of packets lost since the start; negative if there are duplicates. It is limited to 24 bits when
    /// written.
    public var cumulativeLost: Int32
    /// The extended highest sequence number received, with the number of wraparounds in the upper 16 bits.
    public var highestSequenceNumber: UInt32
    /// The interarrival jitter in units of the RTP clock.
    public var jitter: UInt32
    /// The middle 32 bits of the last sender report's NTP timestamp; 0 if none was received.
    public var lastSenderReport: UInt32
    /// The time from receiving that report to sending this one, in units of 1/65536 s.
    public var delaySinceLastSenderReport: UInt32

    /// The size in bytes.
    static let size = 24

    /// Creates a report block.
    public init(
        ssrc: UInt32, fractionLost: UInt8 = 0, cumulativeLost: Int32 = 0, highestSequenceNumber: UInt32 = 0,
        jitter: UInt32 = 0, lastSenderReport: UInt32 = 0, delaySinceLastSenderReport: UInt32 = 0
    ) {
        self.ssrc = ssrc
        self.fractionLost = fractionLost
        self.cumulativeLost = cumulativeLost
        self.highestSequenceNumber = highestSequenceNumber
        self.jitter = jitter
        self.lastSenderReport = lastSenderReport
        self.delaySinceLastSenderReport = delaySinceLastSenderReport
    }

    /// Parses a block at an offset.
    init(in datagram: Span<UInt8>, at offset: Int) {
        ssrc = datagram.bigEndian32(at: offset)
        fractionLost = datagram[offset + 4]
        cumulativeLost = Int32(bitPattern: datagram.bigEndian24(at: offset + 5) << 8) >> 8
        highestSequenceNumber = datagram.bigEndian32(at: offset + 8)
        jitter = datagram.bigEndian32(at: offset + 12)
        lastSenderReport = datagram.bigEndian32(at: offset + 16)
        delaySinceLastSenderReport = datagram.bigEndian32(at: offset + 20)
    }

    /// Writes the block at an offset.
    func write(into buffer: MutableByteView, at offset: Int) {
        let lost = min(max(cumulativeLost, -0x80_0000), 0x7F_FFFF)
        buffer.storeBigEndian(ssrc, at: offset)
        buffer[offset + 4] = fractionLost
        buffer.storeBigEndian24(UInt32(bitPattern: lost), at: offset + 5)
        buffer.storeBigEndian(highestSequenceNumber, at: offset + 8)
        buffer.storeBigEndian(jitter, at: offset + 12)
        buffer.storeBigEndian(lastSenderReport, at: offset + 16)
        buffer.storeBigEndian(delaySinceLastSenderReport, at: offset + 20)
    }
}

/// A receiver's limit for the sum of streams (REMB; draft-alvestrand-rmcat-remb-03, section 2.2).
public struct ReceiverEstimatedBitrate: Hashable, Sendable {
    /// The SSRC of the receiver.
    public let senderSSRC: UInt32
    /// The limit.
    public let bitrate: Bitrate
    /// The offset of the first SSRC in the datagram.
    let offset: Int
    /// The number of streams.
    public let count: Int

    /// The unique identifier `REMB` in ASCII.
    static let uniqueIdentifier: UInt32 = 0x5245_4D42

    /// Returns the SSRC of a stream; the index must be less than ``count``.
    public func ssrc(_ index: Int, in datagram: Span<UInt8>) -> UInt32 {
        precondition(index >= 0 && index < count, "the stream does not exist")
        return datagram.bigEndian32(at: offset + index * 4)
    }

    /// Parses the body of a message. Returns nil if it is not REMB or SSRCs are missing.
    init?(in datagram: Span<UInt8>, body: Range<Int>) {
        let start = body.lowerBound
        guard body.count >= 16, datagram.bigEndian32(at: start + 8) == Self.uniqueIdentifier else { return nil }
        count = Int(datagram[start + 12])
        offset = start + 16
        guard body.count >= 16 + 4 * count else { return nil }
        senderSSRC = datagram.bigEndian32(at: start)
        let packed = datagram.bigEndian24(at: start + 13)
        bitrate = Self.bitrate(mantissa: Int64(packed & 0x3FFFF), exponent: packed >> 18)
    }

    /// Returns the limit; the maximum if it exceeds 64 bits.
    private static func bitrate(mantissa: Int64, exponent: UInt32) -> Bitrate {
        guard mantissa.leadingZeroBitCount > Int(exponent) else { return Bitrate(bitsPerSecond: .max) }
        return Bitrate(bitsPerSecond: mantissa << Int64(exponent))
    }

    /// Returns a bit rate as 6 bits of exponent and 18 bits of mantissa, rounded down.
    static func packed(_ bitrate: Bitrate) -> UInt32 {
        let bits = UInt64(max(bitrate.bitsPerSecond, 0))
        let exponent = max(0, 64 - bits.leadingZeroBitCount - 18)
        return UInt32(exponent) << 18 | UInt32(bits >> UInt64(exponent))
    }
}
