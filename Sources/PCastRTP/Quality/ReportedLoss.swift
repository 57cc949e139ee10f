/// The share of a stream's packets that its receiver reports as lost, per report.
///
/// Packets that did not reach the sender itself leave gaps in its sequence numbers, which the receiver counts as lost.
/// They are subtracted.
package struct ReportedLoss: Sendable {
    /// The number of packets that were sent without an arrival after which they are considered lost.
    private static let clearlySent = 20

    /// The highest sequence number of the last report; nil before the first.
    private var highest: UInt32?
    /// The number of packets that were sent before the last report.
    private var sentAtReport = 0
    /// The last report; nil before the first.
    private var last: ReportBlock?

    /// The loss from 0 to 1 between the last two reports; nil before there are two, and if nothing was sent.
    package private(set) var share: Double?

    /// Creates a measurement without reports.
    package init() {}

    /// Evaluates the latest report, unless it was evaluated before.
    ///
    /// - Parameters:
    ///   - block: The latest report from the receiver; nil before the first.
    ///   - sent: The number of packets that were sent since the beginning.
    package mutating func observe(_ block: ReportBlock?, sent: Int) {
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
