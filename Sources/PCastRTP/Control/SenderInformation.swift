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
