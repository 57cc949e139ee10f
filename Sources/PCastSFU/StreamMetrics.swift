public import PCastCore

/// The counters of one stream: of the path from its publisher, and of the paths to all its viewers.
public struct StreamMetrics: Hashable, Sendable {
    /// The counters of one direction since the stream began. They never decrease, not even when viewers leave.
    public struct Counts: Hashable, Sendable {
        /// The number of packets.
        public var packets = 0
        /// The number of payload bytes.
        public var bytes = 0
        /// The number of lost packets before retransmission, according to receiver reports or the SFU's own count.
        public var packetsLost = 0
        /// The number of retransmitted packets.
        public var retransmissions = 0
        /// The number of packets requested by negative acknowledgements (RFC 4585, section 6.2.1).
        public var nacks = 0
        /// The number of requests for key frames.
        public var keyFrameRequests = 0

        /// Creates counters that are all zero.
        public init() {}

        static func += (left: inout Counts, right: Counts) {
            left.packets += right.packets
            left.bytes += right.bytes
            left.packetsLost += right.packetsLost
            left.retransmissions += right.retransmissions
            left.nacks += right.nacks
            left.keyFrameRequests += right.keyFrameRequests
        }
    }

    /// The identifier of the stream.
    public var stream: StreamID
    /// The packets that arrived from the publisher, and the requests of the SFU.
    public var received = Counts()
    /// The packets that were sent to viewers, and the viewers' requests.
    public var sent = Counts()
    /// The bit rate that arrives from the publisher, measured on the wire; nil during the first second.
    public var bitrate: Bitrate?
    /// The round-trip time to the publisher; nil while it is unknown.
    public var roundTrip: TimeSpan?
    /// The bit rate that the publisher is asked not to exceed because of its viewers' links; nil if there is no limit.
    public var limit: Bitrate?
    /// The data quality of the publisher's uplink.
    public var quality = DataQuality.good
    /// The number of viewers that count as such.
    public var viewers = 0
    /// The dimensions of the best video layer; nil before its first key frame.
    public var dimensions: Dimensions?
    /// The number of viewers with each data quality.
    public var viewerQualities: [DataQuality: Int] = [:]
    /// The number of viewers that receive each video layer, by its index in the publisher's order. Viewers without
    /// video are not included.
    public var viewersOfLayers: [Int: Int] = [:]
    /// The sum of the estimated bandwidths of the viewers' links.
    public var estimates = Bitrate(bitsPerSecond: 0)
    /// The number of viewers that `estimates` includes.
    public var estimatedViewers = 0

    /// Whether the counters cover only the viewers of one shard that does not have the publisher.
    public var isOfReplica = false

    /// Creates the metrics of a stream without any traffic.
    public init(stream: StreamID) { self.stream = stream }

    /// Merges the metrics of all shards into one element for each stream.
    public static func merged(_ all: [StreamMetrics]) -> [StreamMetrics] {
        let replicas = Dictionary(grouping: all.filter(\.isOfReplica), by: \.stream)
        return all.filter { !$0.isOfReplica }.map { original in
            var figures = original
            for replica in replicas[original.stream] ?? [] { figures.add(viewersOf: replica) }
            return figures
        }
    }

    private mutating func add(viewersOf other: StreamMetrics) {
        sent += other.sent
        viewers += other.viewers
        viewerQualities.merge(other.viewerQualities, uniquingKeysWith: +)
        viewersOfLayers.merge(other.viewersOfLayers, uniquingKeysWith: +)
        estimates.bitsPerSecond += other.estimates.bitsPerSecond
        estimatedViewers += other.estimatedViewers
    }
}
