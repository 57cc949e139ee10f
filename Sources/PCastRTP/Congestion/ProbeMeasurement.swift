import PCastCore

/// Measures the bit rate at which the packets of a probe arrive.
///
/// It follows libwebrtc's `ProbeBitrateEstimator`: 80 % of the packets must arrive. A probe that arrives more than
/// twice as fast as it was sent is not valid. A probe that arrives at less than 90 % of its rate has filled the path,
/// and 95 % of the arriving bit rate is the result.
struct ProbeMeasurement: Sendable {
    /// The measurement of one probe.
    private struct Cluster: Sendable {
        var id: UInt16
        var count = 0
        var size = 0
        var firstSend: Instant
        var lastSend: Instant
        var firstArrival: TimeSpan
        var lastArrival: TimeSpan
        var lastSentSize: Int
        var firstArrivedSize: Int
    }

    /// The share of the packets that must arrive.
    private static let share = 0.8
    /// The maximum ratio of the arriving to the sending rate.
    private static let maximumRatio = 2.0
    /// The ratio above which the path is not full.
    private static let unsaturated = 0.9
    /// The share of the arriving bit rate that is used if the path is full.
    private static let utilization = 0.95
    /// The minimum sending time, a third of that of a probe. A shorter burst measures nothing.
    private static let minimumSending = TimeSpan.milliseconds(5)
    /// The maximum sending and arrival time.
    private static let maximumInterval = TimeSpan.seconds(Int64(1))
    /// The maximum number of probes that are measured at the same time.
    private static let maximumClusters = 4

    private var clusters: [Cluster] = []

    /// Adds a packet of a probe. Returns the measured bit rate in kilobits per second; nil if it cannot be measured
    /// yet.
    mutating func arrived(_ packet: SentPacketHistory.Packet, arrival: TimeSpan) -> Double? {
        let slot: Int
        if let known = clusters.firstIndex(where: { $0.id == packet.cluster }) {
            slot = known
        } else {
            if clusters.count == Self.maximumClusters { clusters.removeFirst() }
            clusters.append(
                Cluster(
                    id: packet.cluster, firstSend: packet.sentAt, lastSend: packet.sentAt, firstArrival: arrival,
                    lastArrival: arrival, lastSentSize: packet.size, firstArrivedSize: packet.size))
            slot = clusters.count - 1
        }
        Self.add(packet, arrival: arrival, to: &clusters[slot])
        return Self.rate(of: clusters[slot])
    }

    /// Adds a packet to the measurement of a probe.
    private static func add(_ packet: SentPacketHistory.Packet, arrival: TimeSpan, to cluster: inout Cluster) {
        if packet.sentAt < cluster.firstSend { cluster.firstSend = packet.sentAt }
        if packet.sentAt >= cluster.lastSend {
            cluster.lastSend = packet.sentAt
            cluster.lastSentSize = packet.size
        }
        if arrival < cluster.firstArrival {
            cluster.firstArrival = arrival
            cluster.firstArrivedSize = packet.size
        }
        cluster.lastArrival = max(cluster.lastArrival, arrival)
        cluster.size += packet.size
        cluster.count += 1
    }

    /// Returns the bit rate that a probe measured, in kilobits per second; nil if it is not valid.
    private static func rate(of cluster: Cluster) -> Double? {
        guard Double(cluster.count) >= share * Double(ProbeCluster.minimumPackets) else { return nil }
        let sending = cluster.lastSend - cluster.firstSend
        let arriving = cluster.lastArrival - cluster.firstArrival
        guard sending > .zero, sending <= maximumInterval, arriving > .zero, arriving <= maximumInterval,
            sending >= minimumSending
        else { return nil }
        let sent = Double(cluster.size - cluster.lastSentSize) * 8 / sending.milliseconds
        let arrived = Double(cluster.size - cluster.firstArrivedSize) * 8 / arriving.milliseconds
        guard arrived <= maximumRatio * sent else { return nil }
        return arrived < unsaturated * sent ? utilization * arrived : min(sent, arrived)
    }
}
