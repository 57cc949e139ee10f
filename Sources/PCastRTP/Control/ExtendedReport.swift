/// An RTCP extended report (RFC 3611), by which a peer that sends no media measures the round-trip time.
public struct ExtendedReport: Hashable, Sendable {
    /// A DLRR entry: the response to a receiver reference time (RFC 3611, section 4.5).
    public struct DelaySinceReport: Hashable, Sendable {
        /// The SSRC of the receiver that sent the reference time.
        public var ssrc: UInt32
        /// The middle 32 bits of the reference time's NTP timestamp.
        public var lastReport: UInt32
        /// The time from receiving the reference time to sending the response, in units of 1/65536 s.
        public var delay: UInt32

        /// Creates an entry.
        public init(ssrc: UInt32, lastReport: UInt32, delay: UInt32) {
            self.ssrc = ssrc
            self.lastReport = lastReport
            self.delay = delay
        }
    }

    /// The SSRC of the sender of the report.
    public let senderSSRC: UInt32
    /// The range of the report blocks in the datagram.
    let range: Range<Int>

    /// The block types (RFC 3611, section 4).
    enum BlockType {
        static let receiverReferenceTime: UInt8 = 4
        static let delaySinceLastReport: UInt8 = 5
    }

    /// Returns the receiver reference time as a 64-bit NTP timestamp; nil if there is none (RFC 3611, section 4.4).
    public func receiverReferenceTime(in datagram: Span<UInt8>) -> UInt64? {
        var cursor = range.lowerBound
        while let block = next(at: &cursor, in: datagram) {
            if block.type == BlockType.receiverReferenceTime, block.body.count == 8 {
                return datagram.bigEndian64(at: block.body.lowerBound)
            }
        }
        return nil
    }

    /// Calls a function with each DLRR entry (RFC 3611, section 4.5).
    public func forEachDelay(in datagram: Span<UInt8>, _ body: (DelaySinceReport) -> Void) {
        var cursor = range.lowerBound
        while let block = next(at: &cursor, in: datagram) {
            guard block.type == BlockType.delaySinceLastReport else { continue }
            for offset in stride(from: block.body.lowerBound, to: block.body.upperBound - 11, by: 12) {
                body(
                    DelaySinceReport(
                        ssrc: datagram.bigEndian32(at: offset), lastReport: datagram.bigEndian32(at: offset + 4),
                        delay: datagram.bigEndian32(at: offset + 8)))
            }
        }
    }

    /// Returns the block at an offset, which advances to the next one; nil at the end or if the block is truncated.
    private func next(at cursor: inout Int, in datagram: Span<UInt8>) -> (type: UInt8, body: Range<Int>)? {
        let start = cursor + 4
        guard start <= range.upperBound else { return nil }
        let stop = start + 4 * Int(datagram.bigEndian16(at: cursor + 2))
        guard stop <= range.upperBound else { return nil }
        let type = datagram[cursor]
        cursor = stop
        return (type, start..<stop)
    }
}
