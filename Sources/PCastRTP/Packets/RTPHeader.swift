/// The header of an RTP packet (RFC 3550, section 5.1), and where its parts lie.
public struct RTPHeader: Hashable, Sendable {
    public var marker: Bool
    /// 0...127; never 64...95, which would read as RTCP (RFC 5761, section 4).
    public var payloadType: UInt8
    public var sequenceNumber: UInt16
    public var timestamp: UInt32
    public var ssrc: UInt32

    /// Bytes before the payload: the fixed header, the contributing sources and the extension block.
    public internal(set) var headerSize = Self.fixedSize

    /// Bytes of padding behind the payload, their count included. When writing, 0 leaves the padding bit clear.
    public var paddingSize = 0

    /// Where the header extension elements lie; empty when there are none or they are malformed.
    public internal(set) var extensions = RTPExtensionBlock()

    /// The packet has an extension block that breaks its own bounds. It counts as a packet without extensions.
    public internal(set) var hasMalformedExtensions = false

    /// The header without contributing sources and extensions.
    public static let fixedSize = 12

    public init(
        marker: Bool = false, payloadType: UInt8, sequenceNumber: UInt16, timestamp: UInt32, ssrc: UInt32,
        paddingSize: Int = 0
    ) {
        self.marker = marker
        self.payloadType = payloadType
        self.sequenceNumber = sequenceNumber
        self.timestamp = timestamp
        self.ssrc = ssrc
        self.paddingSize = paddingSize
    }

    /// Whether a packet whose first byte says version 2 is RTCP (RFC 5761, section 4).
    public static func isRTCP(secondByte: UInt8) -> Bool { (192...223).contains(secondByte) }

    /// Where the payload lies in a packet of `packetSize` bytes; empty for padding alone (RTP1).
    public func payloadRange(packetSize: Int) -> Range<Int> {
        headerSize..<max(headerSize, packetSize - paddingSize)
    }
}

extension RTPHeader {
    /// Reads a packet in the clear; nil when it is not RTP, or claims more padding than it has room for.
    public static func parse(_ packet: Span<UInt8>) -> RTPHeader? {
        guard var header = parseProtected(packet) else { return nil }
        guard packet[0] & 0x20 != 0 else { return header }
        let padding = Int(packet[packet.count - 1])
        guard padding > 0, header.headerSize + padding <= packet.count else { return nil }
        header.paddingSize = padding
        return header
    }

    /// Reads a packet whose payload is encrypted, so that its padding cannot be known yet; nil when it is not RTP.
    public static func parseProtected(_ packet: Span<UInt8>) -> RTPHeader? {
        guard packet.count >= fixedSize, packet[0] >> 6 == 2 else { return nil }
        let headerSize = fixedSize + 4 * Int(packet[0] & 0x0F)
        guard headerSize <= packet.count, !isRTCP(secondByte: packet[1]) else { return nil }
        var header = RTPHeader(
            marker: packet[1] & 0x80 != 0, payloadType: packet[1] & 0x7F,
            sequenceNumber: packet.bigEndian16(at: 2), timestamp: packet.bigEndian32(at: 4),
            ssrc: packet.bigEndian32(at: 8))
        header.headerSize = headerSize
        if packet[0] & 0x10 != 0 { header.readExtensions(in: packet) }
        return header
    }

    /// Reads the block behind the contributing sources. One that runs past the end leaves no payload to find, so such
    /// a packet is all header: it counts as received and holds nothing (RTP8).
    private mutating func readExtensions(in packet: Span<UInt8>) {
        let start = headerSize + 4
        guard start <= packet.count else { return rejectExtensions(headerSize: packet.count) }
        let length = 4 * Int(packet.bigEndian16(at: start - 2))
        guard start + length <= packet.count else { return rejectExtensions(headerSize: packet.count) }
        let block = RTPExtensionBlock(profile: packet.bigEndian16(at: start - 4), offset: start, length: length)
        guard block.isWellFormed(in: packet) else { return rejectExtensions(headerSize: start + length) }
        headerSize = start + length
        extensions = block
    }

    private mutating func rejectExtensions(headerSize: Int) {
        self.headerSize = headerSize
        hasMalformedExtensions = true
    }
}
