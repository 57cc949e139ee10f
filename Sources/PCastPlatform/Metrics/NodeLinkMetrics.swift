import PCastCore
import PCastSFU
import Synchronization

/// The traffic of the links over which this node pulls streams, by the node from which they come.
///
/// It is read from the counters of the streams at each sample of the metrics. Traffic of a stream after its last sample is
/// not counted.
final class NodeLinkMetrics: Sendable {
    /// A pulled stream and its counters, which never decrease.
    struct Pulled: Sendable {
        let stream: StreamID
        /// The name of the origin's node.
        let node: String
        let received: StreamMetrics.Counts
    }

    /// The pulled streams of a node, and the traffic of its links since the start.
    struct Totals: Sendable, Hashable {
        var streams = 0
        var packets = 0
        var bytes = 0
        var packetsLost = 0
        var retransmissions = 0

        fileprivate mutating func add(_ counts: StreamMetrics.Counts, since former: StreamMetrics.Counts) {
            packets += max(counts.packets - former.packets, 0)
            bytes += max(counts.bytes - former.bytes, 0)
            packetsLost += max(counts.packetsLost - former.packetsLost, 0)
            retransmissions += max(counts.retransmissions - former.retransmissions, 0)
        }
    }

    private struct State {
        var counted: [StreamID: StreamMetrics.Counts] = [:]
        var totals: [String: Totals] = [:]
    }

    /// The node of streams whose origin has no name, because it belongs to no cluster, or is one of too many.
    static let otherNode = "other"
    /// The maximum number of nodes with their own values.
    static let capacity = 256

    private let state = Mutex(State())

    /// Adds the traffic since the last call. `pulled` has all streams that are pulled now. Returns the totals by node.
    func update(_ pulled: [Pulled]) -> [String: Totals] {
        state.withLock { state in
            for node in state.totals.keys { state.totals[node]?.streams = 0 }
            for stream in pulled {
                let isKnown = state.totals[stream.node] != nil
                let node = isKnown || state.totals.count < Self.capacity ? stream.node : Self.otherNode
                let former = state.counted[stream.stream] ?? StreamMetrics.Counts()
                state.totals[node, default: Totals()].streams += 1
                state.totals[node]?.add(stream.received, since: former)
            }
            state.counted = Dictionary(pulled.map { ($0.stream, $0.received) }) { $1 }
            return state.totals
        }
    }
}

extension MetricsText {
    /// Adds the metrics of the links between nodes. `links` is the number of links over which other nodes pull streams
    /// from this one, and `pulls` the number of streams that this node has pulled.
    mutating func add(_ totals: [String: NodeLinkMetrics.Totals], links: Int, pulls: Int) {
        let each = { (value: (NodeLinkMetrics.Totals) -> Int) in
            totals.sorted { $0.key < $1.key }.map { node, totals -> Sample in ([("node", node)], "\(value(totals))") }
        }
        add("pcast_node_links", .gauge, "Number of links over which other nodes pull streams.", links)
        add("pcast_pulls_total", .counter, "Streams that were pulled from other nodes.", pulls)
        add("pcast_pulled_streams", .gauge, "Number of streams that are pulled, by origin.", each(\.streams))
        add("pcast_link_packets_received_total", .counter, "Media packets of pulled streams.", each(\.packets))
        add("pcast_link_bytes_received_total", .counter, "Payload bytes of pulled streams.", each(\.bytes))
        add(
            "pcast_link_packets_lost_total", .counter, "Packets of pulled streams that were missing at first.",
            each(\.packetsLost))
        add(
            "pcast_link_packets_retransmitted_total", .counter, "Retransmitted packets of pulled streams.",
            each(\.retransmissions))
    }

    /// Adds the metrics of the directory of a cluster.
    mutating func add(_ cluster: ClusterService.Counts) {
        add(
            "pcast_cluster_connected", .gauge, "1 if the directory of the cluster is connected, otherwise 0.",
            cluster.isConnected ? 1 : 0)
        add("pcast_cluster_nodes", .gauge, "Number of nodes that renew their lease, this one included.", cluster.nodes)
        add(
            "pcast_cluster_conflicts_total", .counter,
            "Names of this node's streams that another node has claimed with a higher epoch.", cluster.conflicts)
        add(
            "pcast_cluster_values_rejected_total", .counter,
            "Values of the directory that are invalid or signed with another secret, once for each connection.",
            cluster.rejected)
    }

    /// Adds the metrics of HLS of streams that other nodes package.
    mutating func add(
        _ load: (streams: Int, viewers: Int, fetches: Int, bytes: Int), _ counts: EdgeVideo.Counts
    ) {
        add("pcast_edge_hls_streams", .gauge, "Number of HLS streams of other nodes.", load.streams)
        add("pcast_edge_hls_bytes", .gauge, "Bytes of HLS of other nodes in memory.", load.bytes)
        add(
            "pcast_edge_hls_pending", .gauge, "Number of HLS requests to other nodes that wait for a response.",
            load.fetches)
        add(
            "pcast_edge_hls_requests_total", .counter, "Requests for HLS of other nodes, by viewers and nodes.",
            counts.requests)
        add("pcast_edge_hls_hits_total", .counter, "Those that were answered from memory.", counts.hits)
        add("pcast_edge_hls_fetches_total", .counter, "HLS requests that were sent to other nodes.", counts.fetches)
    }
}

extension StreamDirectory {
    /// The streams that this node pulls, with the identifier of the node from which each comes, and the number of nodes
    /// that pull each stream from this one.
    var nodeLinks: (pulled: [StreamID: String], pulling: [StreamID: Int]) {
        var pulled: [StreamID: String] = [:]
        for stream in registry.streams.values where stream.isPulled { pulled[stream.id] = stream.nodes.first }
        var pulling: [StreamID: Int] = [:]
        for participant in registry.participants.values
        where participant.isPreview && participant.streamID.description.hasPrefix(Self.linkPrefix) {
            pulling[participant.origin, default: 0] += 1
        }
        return (pulled, pulling)
    }
}
