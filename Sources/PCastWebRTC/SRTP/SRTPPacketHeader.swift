/// The fields of an RTP or RTCP header that SRTP needs.
struct SRTPPacketHeader {
    let ssrc: UInt32
    let sequenceNumber: UInt16
    /// The size in bytes, including CSRCs and header extension. These are not encrypted.
    let size: Int

    /// Parses an RTP header (RFC 3550, section 5.1). Returns nil unless the header is followed by at least `tail`
    /// bytes.
    init?(rtp packet: UnsafeRawBufferPointer, tail: Int) {
        guard packet.count >= 12 + tail, packet[0] >> 6 == 2 else { return nil }
        var size = 12 + 4 * Int(packet[0] & 0x0F)
        if packet[0] & 0x10 != 0 {
            guard packet.count >= size + 4 + tail else { return nil }
            let words = packet.loadUnaligned(fromByteOffset: size + 2, as: UInt16.self).bigEndian
            size += 4 + 4 * Int(words)
        }
        guard packet.count >= size + tail else { return nil }
        self.size = size
        sequenceNumber = packet.loadUnaligned(fromByteOffset: 2, as: UInt16.self).bigEndian
        ssrc = packet.loadUnaligned(fromByteOffset: 8, as: UInt32.self).bigEndian
    }

    /// Returns the SSRC of an RTCP packet; nil if it is too short for a header and `tail` bytes.
    static func ssrc(ofRTCP packet: UnsafeRawBufferPointer, tail: Int) -> UInt32? {
        guard packet.count >= 8 + tail, packet[0] >> 6 == 2 else { return nil }
        return packet.loadUnaligned(fromByteOffset: 4, as: UInt32.self).bigEndian
    }
}
