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
    private static let fewest: Int64 = 20
    /// The number of intervals in the result.
    private static let looks = 2

    private var counts: [Count] = []

    /// Creates a measurement without counts.
    package init() { counts.reserveCapacity(Self.looks + 1) }

    /// Adds counts, and returns the loss from 0 to 1.
    ///
    /// - Parameters:
    ///   - expected: The number of packets since the beginning according to the sequence numbers.
    ///   - received: The number of packets that arrived since the beginning.
    /// - Returns: The loss; nil if there were too few packets.
    package mutating func observe(expected: Int64, received: Int64) -> Double? {
        if let last = counts.last, expected < last.expected || received < last.received { counts.removeAll() }
        counts.append(Count(expected: expected, received: received))
        if counts.count > Self.looks + 1 { counts.removeFirst() }
        let expected = expected - counts[0].expected
        guard expected >= Self.fewest else { return nil }
        return min(max(1 - Double(received - counts[0].received) / Double(expected), 0), 1)
    }
}
