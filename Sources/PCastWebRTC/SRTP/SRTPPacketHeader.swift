/// As much of an RTP or RTCP header as SRTP needs.
struct SRTPPacketHeader {
    let ssrc: UInt32
    let sequenceNumber: UInt16
    /// With contributing sources and header extension: what stays in the clear.
    let size: Int

    /// Nil unless the header, CSRCs and extension included, ends `tail` bytes or more before the packet does
    /// (RFC 3550, section 5.1).
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

    /// The SSRC that an RTCP packet begins with; nil when it is too short for one and `tail` bytes.
    static func ssrc(ofRTCP packet: UnsafeRawBufferPointer, tail: Int) -> UInt32? {
        guard packet.count >= 8 + tail, packet[0] >> 6 == 2 else { return nil }
        return packet.loadUnaligned(fromByteOffset: 4, as: UInt32.self).bigEndian
    }
}
