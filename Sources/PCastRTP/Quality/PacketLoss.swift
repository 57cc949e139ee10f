/// The share of a stream's packets that its receiver reports as lost, per report.
///
/// Packets that did not reach the sender itself leave gaps in its sequence numbers, which the receiver counts as lost.
/// They are subtracted.
package struct ReportedLoss: Sendable {
    /// The number of packets that were sent without an arrival after which they are considered lost.
    private static let minimumSent = 20

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
            share = count >= Self.minimumSent ? 1 : nil
        }
    }
}

/// The loss of a stream as its receiver counts it: the share of packets of about the last second that did not arrive at
/// first, before retransmissions.
package struct ArrivalLoss: Sendable {
    /// The counts at one time.
    private struct Count: Sendable {
        /// The number of packets that were sent.
        var expected: Int64
        /// The number of packets that arrived.
        var received: Int64
    }

    /// The minimum number of packets for a result.
    private static let minimumPackets: Int64 = 20
    /// The number of intervals in the result.
    private static let intervalCount = 2

    private var counts: [Count] = []

    /// Creates a measurement without counts.
    package init() { counts.reserveCapacity(Self.intervalCount + 1) }

    /// Adds counts, and returns the loss from 0 to 1.
    ///
    /// - Parameters:
    ///   - expected: The number of packets since the beginning according to the sequence numbers.
    ///   - received: The number of packets that arrived since the beginning.
    /// - Returns: The loss; nil if there were too few packets.
    package mutating func observe(expected: Int64, received: Int64) -> Double? {
        if let last = counts.last, expected < last.expected || received < last.received { counts.removeAll() }
        counts.append(Count(expected: expected, received: received))
        if counts.count > Self.intervalCount + 1 { counts.removeFirst() }
        let expected = expected - counts[0].expected
        guard expected >= Self.minimumPackets else { return nil }
        return min(max(1 - Double(received - counts[0].received) / Double(expected), 0), 1)
    }
}
