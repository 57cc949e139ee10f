/// The header of an RTP packet (RFC 3550, section 5.1).
package struct RTPHeader: Hashable, Sendable {
    /// The marker bit, which ends a video frame.
    package var marker: Bool
    /// The payload type from 0 to 127, but not from 64 to 95, which would be read as RTCP (RFC 5761, section 4).
    package var payloadType: UInt8
    /// The sequence number.
    package var sequenceNumber: UInt16
    /// The timestamp in ticks of the codec's clock rate.
    package var timestamp: UInt32
    /// The SSRC of the stream.
    package var ssrc: UInt32

    /// The size of everything before the payload in bytes: fixed header, contributing sources and extensions.
    package internal(set) var headerSize = Self.fixedSize

    /// The size of the padding in bytes, with the byte that contains it; 0 for none.
    package var paddingSize = 0

    /// The extensions; empty if there are none or they are malformed.
    package internal(set) var extensions = RTPExtensionBlock()

    /// Whether the extensions are malformed and are ignored.
    package internal(set) var hasMalformedExtensions = false

    /// The size of the header without contributing sources and extensions in bytes.
    package static let fixedSize = 12

    /// Creates a header without extensions.
    package init(
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

    /// Returns whether a packet of version 2 is RTCP, according to its second byte (RFC 5761, section 4).
    package static func isRTCP(secondByte: UInt8) -> Bool { (192...223).contains(secondByte) }

    /// Returns the range of the payload in a packet of a size in bytes; empty for a packet that contains only padding.
    package func payloadRange(packetSize: Int) -> Range<Int> {
        headerSize..<max(headerSize, packetSize - paddingSize)
    }
}

extension RTPHeader {
    /// Parses an unencrypted packet. Returns nil if it is not RTP or its padding exceeds the packet.
    package static func parse(_ packet: Span<UInt8>) -> RTPHeader? {
        guard var header = parseProtected(packet) else { return nil }
        guard packet[0] & 0x20 != 0 else { return header }
        let padding = Int(packet[packet.count - 1])
        guard padding > 0, header.headerSize + padding <= packet.count else { return nil }
        header.paddingSize = padding
        return header
    }

    /// Parses an encrypted packet, whose padding is unknown. Returns nil if it is not RTP.
    package static func parseProtected(_ packet: Span<UInt8>) -> RTPHeader? {
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

    /// Reads the extensions. If they exceed the packet, the whole packet is the header, so that it counts as received
    /// but has no payload.
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
