import PCastMedia
import PCastRelay

/// On which shard of the relay each stream and each peer is.
struct RelayPlaces {
    private var peers: [PeerID: Int] = [:]
    private var streams: [StreamID: (shard: Int, publisher: PeerID)] = [:]
    private var publishers: [PeerID: StreamID] = [:]
    /// Peers of each shard.
    private(set) var loads: [Int]
    private let maximumPeers: Int

    /// - Parameter maximumPeers: of all shards together.
    init(shards: Int, maximumPeers: Int) {
        loads = Array(repeating: 0, count: shards)
        self.maximumPeers = maximumPeers
    }

    func shard(of peer: PeerID) -> Int? { peers[peer] }

    /// A place for a publisher: where the fewest peers are, or where there is such a stream, whose publisher may have gone.
    mutating func enter(_ peer: PeerID, publishing stream: StreamID) throws(RelayError) -> Int {
        let shard = streams[stream]?.shard ?? loads.indices.min { loads[$0] < loads[$1] } ?? 0
        try enter(peer, shard: shard)
        if streams[stream] == nil { streams[stream] = (shard, peer) }
        publishers[peer] = stream
        return shard
    }

    /// A publisher was let in: the stream is its own.
    mutating func noteStream(of peer: PeerID) {
        guard let stream = publishers[peer], let shard = peers[peer] else { return }
        streams[stream] = (shard, peer)
    }

    /// So many peers more than elsewhere may be where a stream is before its viewers are shared out: each further shard
    /// takes another copy of each packet.
    private static let preference = 32

    /// A place for a viewer: where its stream is at home, or where the fewest peers are.
    mutating func enter(
        _ peer: PeerID, viewing stream: StreamID
    ) throws(RelayError) -> (shard: Int, home: Int) {
        guard let home = streams[stream]?.shard else { throw .unknownStream(stream) }
        let least = loads.indices.min { loads[$0] < loads[$1] } ?? home
        let shard = loads[home] - loads[least] > Self.preference ? least : home
        try enter(peer, shard: shard)
        return (shard, home)
    }

    private mutating func enter(_ peer: PeerID, shard: Int) throws(RelayError) {
        guard peers.count < maximumPeers else { throw .full }
        peers[peer] = shard
        loads[shard] += 1
    }

    /// It is gone, or was not let in.
    mutating func leave(_ peer: PeerID) {
        guard let shard = peers.removeValue(forKey: peer) else { return }
        loads[shard] -= 1
        guard let stream = publishers.removeValue(forKey: peer), streams[stream]?.publisher == peer else { return }
        streams[stream] = nil
    }
}
