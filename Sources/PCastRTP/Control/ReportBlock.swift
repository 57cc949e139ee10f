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
