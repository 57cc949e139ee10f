/// Determines the sequence numbers of redundant blocks, which only have timestamps (RFC 2198).
///
/// Senders repeat the preceding packets. If a block ends, according to its duration, where the next one begins, it is
/// the preceding packet. If the number of blocks within a gap is equal to the number of missing packets, the blocks are
/// these packets. Other blocks are ignored, because a wrong number would displace the right packet.
package struct RedundantSequence {
    /// The packets between the newest known one and this one.
    package struct Gap: Hashable, Sendable {
        /// The number of missing packets; 0 if there is no gap.
        package var packetCount: Int
        /// The difference between the timestamps of the packet before the gap and this one in ticks.
        package var ticks: Int64

        /// Creates a gap.
        package init(packetCount: Int, ticks: Int64) {
            self.packetCount = packetCount
            self.ticks = ticks
        }
    }

    private let payload: RedundantPayload
    /// Whether the blocks within the gap are the missing packets.
    private let fitsGap: Bool
    /// The index of the next block.
    private var index = 0
    /// Whether all blocks so far are contiguous.
    private var isContiguous = true
    /// The timestamp offset of the last block.
    private var next: UInt32 = 0
    /// The duration of the gap in ticks; 0 without a gap.
    private let gapTicks: Int64

    /// Creates a sequence.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - hole: The gap before the packet; nil if no packet before it is known or a later one arrived first.
    ///   - packet: The packet from which the payload was parsed.
    package init(_ payload: RedundantPayload, after hole: Gap?, in packet: Span<UInt8>) {
        self.payload = payload
        gapTicks = hole?.ticks ?? 0
        var inside = 0
        for index in 0..<payload.redundantCount
        where Int64(payload.redundant(index, in: packet).timestampOffset) < gapTicks {
            inside += 1
        }
        fitsGap = inside > 0 && inside == hole?.packetCount
    }

    /// Returns the next block, beginning with the newest, and the number of packets by which it precedes this one.
    /// Returns nil if there is no further block with a known number.
    package mutating func next(in packet: Span<UInt8>) -> (block: RedundantPayload.Block, distance: Int64)? {
        guard index < payload.redundantCount else { return nil }
        let block = payload.redundant(index, in: packet)
        let isInGap = fitsGap && Int64(block.timestampOffset) < gapTicks
        isContiguous = isContiguous && block.timestampOffset == next + Self.ticks(block, in: packet)
        guard block.timestampOffset > next, isInGap || isContiguous, !block.range.isEmpty else { return nil }
        next = block.timestampOffset
        index += 1
        return (block, Int64(index))
    }

    /// Returns the duration of an Opus block in ticks; 0 if it is invalid.
    private static func ticks(_ block: RedundantPayload.Block, in packet: Span<UInt8>) -> UInt32 {
        UInt32(OpusTOC(packet.extracting(block.range))?.tickCount ?? 0)
    }
}
