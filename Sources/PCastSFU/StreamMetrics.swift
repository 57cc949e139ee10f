public import PCastCore

/// What a relay has counted of one stream: of its publisher's way, and of all its viewers' ways together.
public struct StreamMetrics: Hashable, Sendable {
    /// One way's counts since the stream began; they only grow, also when viewers leave.
    public struct Counts: Hashable, Sendable {
        public var packets = 0
        /// Payload.
        public var bytes = 0
        /// As the receiver's reports, or our own counts, tell; before repair.
        public var packetsLost = 0
        public var retransmissions = 0
        public var nacks = 0
        public var keyFrameRequests = 0

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

    public var stream: StreamID
    /// What arrived; the requests are those that we made.
    public var received = Counts()
    /// What was sent to viewers; the requests are theirs.
    public var sent = Counts()
    /// What arrives at the moment, in bits on the wire; nil in the first second.
    public var bitrate: Bitrate?
    /// To the publisher and back; nil before it was measured.
    public var roundTrip: TimeSpan?
    /// What the publisher is asked to stay below for its viewers' sake; nil for nothing.
    public var limit: Bitrate?
    public var quality = DataQuality.good
    public var viewers = 0
    /// Of the best layer of the video; nil before its first key frame.
    public var dimensions: Dimensions?
    /// How many viewers have each row.
    public var viewerQualities: [DataQuality: Int] = [:]
    /// How many viewers are sent each layer of the video, by its place in the publisher's order; none is sent no video.
    public var viewersOfLayers: [Int: Int] = [:]
    /// What the viewers' downlinks carry, all together, of those of which it is known.
    public var estimates = Bitrate(bitsPerSecond: 0)
    public var estimatedViewers = 0

    /// Whether they are of the viewers of one shard alone, and the rest is told by the stream's home.
    public var isOfReplica = false

    public init(stream: StreamID) { self.stream = stream }

    /// One for each stream, with the viewers of all shards.
    public static func merged(_ all: [StreamMetrics]) -> [StreamMetrics] {
        let replicas = Dictionary(grouping: all.filter(\.isOfReplica), by: \.stream)
        return all.filter { !$0.isOfReplica }.map { home in
            var figures = home
            for replica in replicas[home.stream] ?? [] { figures.add(viewersOf: replica) }
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
