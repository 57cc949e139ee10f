import PCastCore
import PCastIO

/// The cost and the output of one measurement of the SFU or of a reference.
struct FanOutRound: Sendable {
    let processorTime: TimeSpan
    let packets: Int
    let missing: Int
    let unauthentic: Int
    /// The number of viewers without a frame.
    let idle: Int
    /// The datagrams that the load generator lost, and the fraction of its own CPU that it used. A measurement with
    /// lost datagrams or above 0.7 is void, because the load generator and not the SFU would be measured.
    let ownDrops: Int
    let loadShare: Double
    /// The number of datagrams per received message.
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

    /// Returns the datagrams per message between two readings of `LoadLoop`.
    static func perMessage(_ before: (datagrams: Int, messages: Int), _ now: (datagrams: Int, messages: Int)) -> Double
    {
        Double(now.datagrams - before.datagrams) / Double(max(1, now.messages - before.messages))
    }

    /// Returns the median of several measurements, in nanoseconds per packet.
    static func median(_ rounds: [FanOutRound]) -> Double? {
        Percentile.of(rounds.map(\.nanosecondsPerPacket), 0.5)
    }
}
