/// The report blocks of a sender or receiver report, where they lie in the datagram.
public struct ReportBlocks: Hashable, Sendable {
    let offset: Int
    /// 0...31.
    public let count: Int

    public func block(_ index: Int, in datagram: Span<UInt8>) -> ReportBlock {
        precondition(index >= 0 && index < count, "no such report block")
        return ReportBlock(in: datagram, at: offset + index * ReportBlock.size)
    }

    /// The block about one stream, nil when there is none.
    public func block(about ssrc: UInt32, in datagram: Span<UInt8>) -> ReportBlock? {
        for index in 0..<count where datagram.bigEndian32(at: offset + index * ReportBlock.size) == ssrc {
            return block(index, in: datagram)
        }
        return nil
    }
}
