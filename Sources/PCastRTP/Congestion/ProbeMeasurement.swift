import PCastMedia

/// What probes say of the path: the rate at which a cluster of packets arrived that left at a known one.
///
/// After libwebrtc's `ProbeBitrateEstimator`: 80 % of a cluster have to arrive; a cluster that arrives faster than
/// twice as fast as it left says nothing; one that arrives at less than 90 % has filled the path, of which 95 % are
/// taken.
struct ProbeMeasurement: Sendable {
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

    private static let share = 0.8
    private static let maximumRatio = 2.0
    private static let unsaturated = 0.9
    private static let utilization = 0.95
    /// Less than a third of a probe's time is a burst, and measures nothing.
    private static let minimumSending = TimeSpan.milliseconds(5)
    private static let maximumInterval = TimeSpan.seconds(Int64(1))
    private static let maximumClusters = 4

    private var clusters: [Cluster] = []

    /// Takes a packet of a probe; answers kilobits a second when the probe says anything.
    mutating func arrived(_ packet: SentPacketHistory.Packet, arrival: TimeSpan) -> Double? {
        let place: Int
        if let known = clusters.firstIndex(where: { $0.id == packet.cluster }) {
            place = known
        } else {
            if clusters.count == Self.maximumClusters { clusters.removeFirst() }
            clusters.append(
                Cluster(
                    id: packet.cluster, firstSend: packet.sentAt, lastSend: packet.sentAt, firstArrival: arrival,
                    lastArrival: arrival, lastSentSize: packet.size, firstArrivedSize: packet.size))
            place = clusters.count - 1
        }
        Self.add(packet, arrival: arrival, to: &clusters[place])
        return Self.rate(of: clusters[place])
    }

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
