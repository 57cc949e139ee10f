/// What a sender says of its stream in a sender report (RFC 3550, section 6.4.1).
public struct SenderInformation: Hashable, Sendable {
    public var ssrc: UInt32
    /// The time of the report by the sender's wall clock, 64-bit NTP.
    public var ntpTimestamp: UInt64
    /// The same time on the stream's RTP clock.
    public var rtpTimestamp: UInt32
    public var packetCount: UInt32
    /// Of payloads, without headers and padding.
    public var octetCount: UInt32

    /// Bytes on the wire, the SSRC included.
    static let size = 24

    public init(ssrc: UInt32, ntpTimestamp: UInt64, rtpTimestamp: UInt32, packetCount: UInt32, octetCount: UInt32) {
        self.ssrc = ssrc
        self.ntpTimestamp = ntpTimestamp
        self.rtpTimestamp = rtpTimestamp
        self.packetCount = packetCount
        self.octetCount = octetCount
    }

    init(in datagram: Span<UInt8>, at offset: Int) {
        ssrc = datagram.bigEndian32(at: offset)
        ntpTimestamp = datagram.bigEndian64(at: offset + 4)
        rtpTimestamp = datagram.bigEndian32(at: offset + 12)
        packetCount = datagram.bigEndian32(at: offset + 16)
        octetCount = datagram.bigEndian32(at: offset + 20)
    }

    /// The middle of the NTP timestamp, by which a receiver names this report in its blocks.
    public var compactTimestamp: UInt32 { UInt32(truncatingIfNeeded: ntpTimestamp >> 16) }
}
