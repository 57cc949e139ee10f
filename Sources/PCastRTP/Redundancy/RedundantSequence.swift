/// Which of a stream's packets a redundant block is: RFC 2198 gives it a time and no number.
///
/// Senders repeat the packets just before. Where a block ends, by its own length of sound, when the next begins, it is the
/// packet before that; and where as many blocks are of the time of a hole as packets are missing in it, they are these.
/// A block of which neither can be said is left alone: under a wrong number it would keep the right packet out.
public struct RedundantSequence {
    /// The packets between the newest one known before and this one.
    public struct Hole: Hashable, Sendable {
        /// Packets missing; none when this packet was the next.
        public var packetCount: Int
        /// From the timestamp of the one before the hole to this packet's.
        public var ticks: Int64

        public init(packetCount: Int, ticks: Int64) {
            self.packetCount = packetCount
            self.ticks = ticks
        }
    }

    private let payload: RedundantPayload
    private let fitsHole: Bool
    private var index = 0
    private var isContiguous = true
    private var next: UInt32 = 0
    private let holeTicks: Int64

    /// - Parameter hole: nil when nothing before this packet is known, or it was overtaken.
    public init(_ payload: RedundantPayload, after hole: Hole?, in packet: Span<UInt8>) {
        self.payload = payload
        holeTicks = hole?.ticks ?? 0
        var inside = 0
        for index in 0..<payload.redundantCount
        where Int64(payload.redundant(index, in: packet).timestampOffset) < holeTicks {
            inside += 1
        }
        fitsHole = inside > 0 && inside == hole?.packetCount
    }

    /// The next block, the newest first, and how many packets before this one its packet was; nil when nothing more can be
    /// told.
    public mutating func next(in packet: Span<UInt8>) -> (block: RedundantPayload.Block, distance: Int64)? {
        guard index < payload.redundantCount else { return nil }
        let block = payload.redundant(index, in: packet)
        let isInHole = fitsHole && Int64(block.timestampOffset) < holeTicks
        isContiguous = isContiguous && block.timestampOffset == next + Self.ticks(block, in: packet)
        guard block.timestampOffset > next, isInHole || isContiguous, !block.range.isEmpty else { return nil }
        next = block.timestampOffset
        index += 1
        return (block, Int64(index))
    }

    private static func ticks(_ block: RedundantPayload.Block, in packet: Span<UInt8>) -> UInt32 {
        UInt32(OpusTOC(packet.extracting(block.range))?.tickCount ?? 0)
    }
}
