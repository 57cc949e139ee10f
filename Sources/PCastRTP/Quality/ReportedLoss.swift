/// The share of packets that one stream's reports say are lost, report by report.
///
/// What did not reach the sender itself leaves holes in its numbers, which the receiver counts as lost too: they are
/// taken off.
public struct ReportedLoss: Sendable {
    /// So many packets sent, none of which arrived, are not on their way any more.
    private static let clearlySent = 20

    private var highest: UInt32?
    private var sentAtReport = 0
    private var last: ReportBlock?

    /// Of the time before the last report; nil before there are two, and while nothing is sent.
    public private(set) var share: Double?

    public init() {}

    /// - Parameters:
    ///   - block: what the receiver reported last; nil before the first.
    ///   - sent: packets sent since the beginning.
    public mutating func observe(_ block: ReportBlock?, sent: Int) {
        guard let block, block != last else { return }
        defer {
            last = block
            highest = block.highestSequenceNumber
            sentAtReport = sent
        }
        guard let highest else { return }
        let advance = Int(Int32(truncatingIfNeeded: block.highestSequenceNumber &- highest))
        let count = sent - sentAtReport
        if advance > 0 {
            let lost = Double(block.fractionLost) / 256 * Double(advance) - Double(max(advance - count, 0))
            share = count > 0 ? min(max(lost / Double(count), 0), 1) : nil
        } else {
            share = count >= Self.clearlySent ? 1 : nil
        }
    }
}
