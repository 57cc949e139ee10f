/// The share of packets that did not arrive when they were first sent, of about the last second, as their receiver counts
/// them.
public struct ArrivalLoss: Sendable {
    private struct Count: Sendable {
        var expected: Int64
        var received: Int64
    }

    /// Fewer say nothing.
    private static let fewest: Int64 = 20
    private static let looks = 2

    private var counts: [Count] = []

    public init() { counts.reserveCapacity(Self.looks + 1) }

    /// - Parameters:
    ///   - expected: packets that the numbers say were sent, since the source started.
    ///   - received: those that arrived.
    /// - Returns: nil where too little came to say anything.
    public mutating func observe(expected: Int64, received: Int64) -> Double? {
        if let last = counts.last, expected < last.expected || received < last.received { counts.removeAll() }
        counts.append(Count(expected: expected, received: received))
        if counts.count > Self.looks + 1 { counts.removeFirst() }
        let expected = expected - counts[0].expected
        guard expected >= Self.fewest else { return nil }
        return min(max(1 - Double(received - counts[0].received) / Double(expected), 0), 1)
    }
}
