/// What a receiver reports of one stream (RFC 3550, section 6.4.1).
public struct ReportBlock: Hashable, Sendable {
    /// The stream that is reported on.
    public var ssrc: UInt32
    /// Of the packets expected since the last report, how many 256ths are missing.
    public var fractionLost: UInt8
    /// Packets missing since the start, negative with duplicates; 24 bits on the wire, to which it is bounded.
    public var cumulativeLost: Int32
    /// The highest sequence number received, its wraps counted in the upper half.
    public var highestSequenceNumber: UInt32
    /// In ticks of the stream's RTP clock.
    public var jitter: UInt32
    /// The middle 32 bits of the last sender report's NTP timestamp; 0 before any.
    public var lastSenderReport: UInt32
    /// From receiving that report to sending this, in 1/65536 s.
    public var delaySinceLastSenderReport: UInt32

    /// Bytes on the wire.
    static let size = 24

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

    init(in datagram: Span<UInt8>, at offset: Int) {
        ssrc = datagram.bigEndian32(at: offset)
        fractionLost = datagram[offset + 4]
        cumulativeLost = Int32(bitPattern: datagram.bigEndian24(at: offset + 5) << 8) >> 8
        highestSequenceNumber = datagram.bigEndian32(at: offset + 8)
        jitter = datagram.bigEndian32(at: offset + 12)
        lastSenderReport = datagram.bigEndian32(at: offset + 16)
        delaySinceLastSenderReport = datagram.bigEndian32(at: offset + 20)
    }

    func write(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) {
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
