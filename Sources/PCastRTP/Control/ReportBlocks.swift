/// The report blocks of a sender or receiver report in a datagram.
public struct ReportBlocks: Hashable, Sendable {
    /// The offset of the first block in the datagram.
    let offset: Int
    /// The number of blocks, 0 to 31.
    public let count: Int

    /// Returns a block; the index must be less than ``count``.
    public func block(_ index: Int, in datagram: Span<UInt8>) -> ReportBlock {
        precondition(index >= 0 && index < count, "the report block does not exist")
        return ReportBlock(in: datagram, at: offset + index * ReportBlock.size)
    }

    /// Returns the block about a stream; nil if there is none.
    public func block(about ssrc: UInt32, in datagram: Span<UInt8>) -> ReportBlock? {
        for index in 0..<count where datagram.bigEndian32(at: offset + index * ReportBlock.size) == ssrc {
            return block(index, in: datagram)
        }
        return nil
    }
}
