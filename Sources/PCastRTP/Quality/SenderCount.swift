package import PCastCore

/// Compares the number of packets that a stream's sender reports with the number that arrived.
package struct SenderCount: Sendable {
    /// The minimum number of packets to conclude that they are lost.
    private static let minimumSent = 20

    /// The number of packets in the last report; nil before the first.
    private var sent: UInt32?
    /// The number of packets that had arrived at the last report.
    private var received = 0
    /// The arrival time of the last report; nil before the first.
    private var report: Instant?

    /// Whether the sender sent nothing between its last two reports, so that nothing is missing.
    package private(set) var isIdle = false
    /// Whether fewer than 5 % of the packets between the last two reports arrived.
    package private(set) var isLost = false

    /// Creates a comparison without reports.
    package init() {}

    /// Evaluates the latest sender report, unless it was evaluated before.
    ///
    /// - Parameters:
    ///   - report: The latest report and its arrival time; nil before the first.
    ///   - packets: The number of packets that arrived since the beginning.
    package mutating func observe(_ report: (information: SenderInformation, arrival: Instant)?, packets: Int) {
        guard let report else { return }
        guard report.arrival != self.report else {
            if packets != received { isIdle = false }
            return
        }
        if let sent {
            let count = Int(report.information.packetCount &- sent)
            let arrived = packets - received
            isIdle = count == 0 && arrived <= 0
            isLost = count >= Self.minimumSent && count < 1 << 20 && arrived * 20 < count
        }
        self.report = report.arrival
        sent = report.information.packetCount
        received = packets
    }
}
