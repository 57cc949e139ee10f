import PCastCore
import PCastSFU

/// The shards of streams and peers.
struct SFUCapacity {
    private var peers: [PeerID: Int] = [:]
    private var streams: [StreamID: (shard: Int, publisher: PeerID)] = [:]
    private var publishers: [PeerID: StreamID] = [:]
    /// The number of peers of each shard.
    private(set) var loads: [Int]
    private let maximumPeers: Int

    /// Creates an empty index. `maximumPeers` is the limit of all shards together.
    init(shards: Int, maximumPeers: Int) {
        loads = Array(repeating: 0, count: shards)
        self.maximumPeers = maximumPeers
    }

    func shard(of peer: PeerID) -> Int? { peers[peer] }

    /// Returns the shard of a stream's publisher; nil for an unknown stream.
    func shard(of stream: StreamID) -> Int? { streams[stream]?.shard }

    /// Returns a shard for a publisher: that of an existing stream with the same identifier, whose publisher may be
    /// disconnected, or of the stream `neighbor`, otherwise the same one for all publishers of a group, otherwise the one
    /// with the fewest peers.
    ///
    /// - Throws: `SFUError.full`.
    mutating func enter(
        _ peer: PeerID, publishing stream: StreamID, beside neighbor: StreamID? = nil, group: String? = nil
    ) throws(SFUError) -> Int {
        let existing = streams[stream] ?? neighbor.flatMap { streams[$0] }
        let preferred = existing?.shard ?? group.map { self.shard(ofGroup: $0) }
        let shard = preferred ?? loads.indices.min { loads[$0] < loads[$1] } ?? 0
        try enter(peer, shard: shard)
        if streams[stream] == nil { streams[stream] = (shard, peer) }
        publishers[peer] = stream
        return shard
    }

    /// Returns the shard of a group of streams that replace each other.
    private func shard(ofGroup group: String) -> Int {
        Int(group.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 } % UInt32(loads.count))
    }

    /// Records that a publisher was added and owns the stream.
    mutating func noteStream(of peer: PeerID) {
        guard let stream = publishers[peer], let shard = peers[peer] else { return }
        streams[stream] = (shard, peer)
    }

    /// The number of peers by which the shard of a stream's publisher may exceed others before the stream's subscribers
    /// are distributed.
    /// Each further shard needs a copy of each packet.
    private static let preference = 32

    /// Returns a shard for a subscriber, and the shard of the stream's publisher.
    ///
    /// - Throws: `SFUError.unknownStream` or `SFUError.full`.
    mutating func enter(
        _ peer: PeerID, viewing stream: StreamID
    ) throws(SFUError) -> (shard: Int, publisherShard: Int) {
        guard let publisherShard = streams[stream]?.shard else { throw .unknownStream(stream) }
        let least = loads.indices.min { loads[$0] < loads[$1] } ?? publisherShard
        let shard = loads[publisherShard] - loads[least] > Self.preference ? least : publisherShard
        try enter(peer, shard: shard)
        return (shard, publisherShard)
    }

    private mutating func enter(_ peer: PeerID, shard: Int) throws(SFUError) {
        guard peers.count < maximumPeers else { throw .full }
        peers[peer] = shard
        loads[shard] += 1
    }

    /// Removes a peer that has left or was not added.
    mutating func leave(_ peer: PeerID) {
        guard let shard = peers.removeValue(forKey: peer) else { return }
        loads[shard] -= 1
        guard let stream = publishers.removeValue(forKey: peer), streams[stream]?.publisher == peer else { return }
        streams[stream] = nil
    }
}
