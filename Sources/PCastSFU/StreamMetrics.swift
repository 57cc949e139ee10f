public import PCastCore
import PCastRTP
import PCastWebRTC

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
    /// The format of the best video layer that the publisher sends; nil before its first key frame.
    public var video: CodecParameters?
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

extension SFU {
    /// The statistics of each stream, including those of its viewers.
    public var figures: [StreamMetrics] { figures(ofViewers: true) }

    /// Returns the statistics of each stream. If `ofViewers` is false, the viewers' statistics are omitted, and the
    /// cost does not depend on the number of viewers.
    public func figures(ofViewers: Bool) -> [StreamMetrics] {
        var all: [StreamMetrics] = []
        for index in 0..<forwarder.streams.endIndex where forwarder.streams.contains(index) {
            all.append(forwarder.figures(stream: index, ofViewers: ofViewers))
        }
        return all
    }

}

extension Forwarder {
    /// Returns the statistics of a stream.
    func figures(stream index: Int, ofViewers: Bool) -> StreamMetrics {
        let stream = streams.address(index)
        var figures = StreamMetrics(stream: stream.pointee.id)
        figures.isOfReplica = stream.pointee.publisherShard != nil
        figures.received = StreamMetrics.counts(stream.pointee.receiver)
        figures.sent = stream.pointee.quality.departed
        figures.bitrate = stream.pointee.quality.bitrate
        figures.roundTrip = stream.pointee.receiver.roundTrip
        figures.limit = stream.pointee.quality.sharedLimit.bitrate
        figures.quality = stream.pointee.quality.machine.quality
        figures.viewers = stream.pointee.countedViewers
        if stream.pointee.layers.exist {
            figures.dimensions = stream.pointee.ladder.rungs.last?.dimensions
            figures.video = stream.pointee.bestVideo
        }
        guard ofViewers else { return figures }
        for viewerIndex in stream.pointee.viewers {
            let viewer = viewers.address(viewerIndex)
            figures.sent += StreamMetrics.counts(viewer.pointee.sender)
            guard viewer.pointee.isCounted else { continue }
            figures.viewerQualities[viewer.pointee.quality.machine.quality, default: 0] += 1
            if let layer = viewer.pointee.layers.current { figures.viewersOfLayers[layer, default: 0] += 1 }
            guard viewer.pointee.isWatching else { continue }
            figures.estimates.bitsPerSecond += viewer.pointee.sender.estimate.target.bitsPerSecond
            figures.estimatedViewers += 1
        }
        return figures
    }
}

extension StreamMetrics {
    static func counts(_ receiver: MediaReceiver) -> StreamMetrics.Counts {
        var counts = StreamMetrics.Counts()
        if let audio = receiver.audio { add(audio, to: &counts) }
        for layer in receiver.sentLayers { add(receiver.layers[layer], to: &counts) }
        return counts
    }

    private static func add(_ track: InboundTrack, to counts: inout StreamMetrics.Counts) {
        counts.packets += track.packetsReceived
        counts.bytes += track.bytesReceived
        counts.packetsLost += Int(max(track.statistics?.lost ?? 0, 0))
        counts.nacks += Int(track.missing.requested)
        counts.keyFrameRequests += track.keyFrame.sentCount
    }

    static func counts(_ sender: borrowing MediaSender) -> StreamMetrics.Counts {
        var counts = StreamMetrics.Counts()
        for track in sender.tracks {
            counts.packets += Int(track.pointee.stream.packetsSent)
            counts.bytes += Int(track.pointee.stream.octetsSent)
            counts.packetsLost += Int(max(track.pointee.receiverReport?.cumulativeLost ?? 0, 0))
            counts.retransmissions += track.pointee.stream.packetsRetransmitted
            counts.nacks += track.pointee.nackCount
            counts.keyFrameRequests += track.pointee.pliCount
        }
        return counts
    }
}

/// The counters of one peer since it was admitted.
public struct PeerStatistics: Hashable, Sendable {
    /// The number of packets that arrived from a publisher or were sent to a viewer.
    public var packets: Int
    /// The number of bytes of these packets.
    public var bytes: Int
    /// The number of packets lost on the way from a publisher or to a viewer.
    public var packetsLost: Int
    /// The number of negative acknowledgements (RFC 4585, section 6.2.1).
    public var nackCount: Int
    /// The number of picture loss indications (RFC 4585, section 6.3.1).
    public var pliCount: Int
    /// The round-trip time; nil while it is unknown.
    public var roundTrip: TimeSpan?
    /// The bit rate that the link to a viewer carries; nil for a publisher.
    public var availableBitrate: Bitrate?
    /// Whether the peer is currently not reachable.
    public var isAway: Bool
    /// The number of viewers if the peer is a publisher.
    public var viewers: Int
}
