import PCastIO
import PCastMedia

/// What one turn of the relay, or of what it is compared with, took and brought.
struct FanOutRound: Sendable {
    let processorTime: TimeSpan
    let packets: Int
    let missing: Int
    let unauthentic: Int
    /// Viewers who got no picture.
    let idle: Int
    /// What the load lost itself, and its share of its own processor: of more than 0.7 a turn is void (BEN2).
    let ownDrops: Int
    let loadShare: Double
    /// Datagrams of a message, as they came.
    let perMessage: Double
    let elapsed: TimeSpan

    var nanosecondsPerPacket: Double { Double(processorTime.nanoseconds) / Double(max(1, packets)) }
    var share: Double { processorTime.seconds / elapsed.seconds }

    var isVoid: Bool { loadShare > 0.7 || ownDrops > 0 }

    var row: [(key: String, value: Double?)] {
        [
            ("nsPerPacket", nanosecondsPerPacket), ("packets", Double(packets)), ("perMessage", perMessage),
            ("ofProcessor", share),
            ("missing", Double(missing)), ("unauthentic", Double(unauthentic)),
            ("idle", Double(idle)), ("ownDrops", Double(ownDrops)),
            ("loadOfProcessor", loadShare),
        ]
    }

    /// - Parameters: what had come before, and has now; see `LoadLoop`.
    static func perMessage(_ before: (datagrams: Int, messages: Int), _ now: (datagrams: Int, messages: Int)) -> Double
    {
        Double(now.datagrams - before.datagrams) / Double(max(1, now.messages - before.messages))
    }

    /// The median of several.
    static func median(_ rounds: [FanOutRound]) -> Double? {
        Percentile.of(rounds.map(\.nanosecondsPerPacket), 0.5)
    }
}
