/// An RTCP extended report (RFC 3611): how a peer that sends nothing learns its round trip.
public struct ExtendedReport: Hashable, Sendable {
    /// When a source received this side's receiver reference time, and how long it held it (RFC 3611, section 4.5).
    public struct DelaySinceReport: Hashable, Sendable {
        public var ssrc: UInt32
        /// The middle 32 bits of the reference time's NTP timestamp.
        public var lastReport: UInt32
        /// In 1/65536 s.
        public var delay: UInt32

        public init(ssrc: UInt32, lastReport: UInt32, delay: UInt32) {
            self.ssrc = ssrc
            self.lastReport = lastReport
            self.delay = delay
        }
    }

    public let senderSSRC: UInt32
    let range: Range<Int>

    enum BlockType {
        static let receiverReferenceTime: UInt8 = 4
        static let delaySinceLastReport: UInt8 = 5
    }

    /// The receiver reference time (RRTR), a 64-bit NTP timestamp, nil when there is none (RFC 3611, section 4.4).
    public func receiverReferenceTime(in datagram: Span<UInt8>) -> UInt64? {
        var cursor = range.lowerBound
        while let block = next(at: &cursor, in: datagram) {
            if block.type == BlockType.receiverReferenceTime, block.body.count == 8 {
                return datagram.bigEndian64(at: block.body.lowerBound)
            }
        }
        return nil
    }

    /// Calls `body` with each entry of the DLRR blocks.
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

    /// The block at `cursor`, which moves behind it; nil at the end or where a block runs past it.
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
