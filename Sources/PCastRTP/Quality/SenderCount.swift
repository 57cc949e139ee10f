public import PCastMedia

/// What a stream's sender says that it sent, held against what arrived.
public struct SenderCount: Sendable {
    /// So many, of which hardly any arrived, are lost.
    private static let clearlySent = 20

    private var sent: UInt32?
    private var received = 0
    private var report: Instant?

    /// It sent nothing since its report before the last: what does not come was not sent.
    public private(set) var isIdle = false
    /// It sent, and hardly anything came.
    public private(set) var isLost = false

    public init() {}

    /// - Parameters:
    ///   - report: what the sender reported last, and when that arrived; nil before the first.
    ///   - packets: that arrived since the beginning.
    public mutating func observe(_ report: (information: SenderInformation, arrival: Instant)?, packets: Int) {
        guard let report else { return }
        guard report.arrival != self.report else {
            if packets != received { isIdle = false }
            return
        }
        if let sent {
            let count = Int(report.information.packetCount &- sent)
            let arrived = packets - received
            isIdle = count == 0 && arrived <= 0
            isLost = count >= Self.clearlySent && count < 1 << 20 && arrived * 20 < count
        }
        self.report = report.arrival
        sent = report.information.packetCount
        received = packets
    }
}
