public import PCastCore
import PCastRTP
import PCastWebRTC

/// Streams whose viewers are at several shards: each shard beside the publisher's has a replica, which is sent the
/// publisher's packets in the clear, one copy for each shard, and makes of them what the stream's home makes of them. What
/// its viewers need of the publisher, it asks of the home.
extension SFU {
    /// A replica that has heard nothing of its home for so long ends: what told of the end was lost.
    static let replicaPatience = TimeSpan.seconds(5 as Int64)

    // MARK: Making one

    /// Sends a stream's packets to another shard from now on; harmless when it has them already.
    ///
    /// - Returns: what `enterReplica` wants there.
    public mutating func replicate(
        _ stream: StreamID, to shard: Int, at now: Instant
    ) throws(SFUError) -> StreamSnapshot {
        guard let index = streamPlaces[stream], streams[index].home == nil, !streams[index].isEnding else {
            throw .unknownStream(stream)
        }
        if !streams[index].replicas.contains(where: { $0.shard == shard }) {
            streams[index].replicas.append(StreamReplica(shard: shard))
            // It is told how things are also while the publisher is not connected.
            let look = now + StreamQuality.linksInterval
            streams[index].quality.nextLinksLook = Instant.earlier(streams[index].quality.nextLinksLook, look)
            schedule(publisher: index)
        }
        return streams.address(index).pointee.snapshot
    }

    /// Makes the replica of a stream; harmless when it is there.
    public mutating func enterReplica(_ snapshot: StreamSnapshot, of home: Int, at now: Instant) {
        guard replicas[snapshot.publisher] == nil else { return }
        let index = streams.insert(PublishedStream(snapshot, home: home, at: now))
        replicas[snapshot.publisher] = index
        streamPlaces[snapshot.id] = index
        schedule(publisher: index)
    }

    /// Whether a stream is here, with that publisher, and goes on. Who has made a replica asks its home once more, for a
    /// stream that ended meanwhile could not tell what was not there.
    public func goesOn(_ snapshot: StreamSnapshot) -> Bool {
        guard let index = streamPlaces[snapshot.id] else { return false }
        return streams[index].peer == snapshot.publisher && !streams[index].isEnding
    }

    /// Ends a replica whose stream has ended.
    public mutating func endReplica(_ snapshot: StreamSnapshot, reason: StreamEndedReason, at now: Instant) {
        guard let index = replicas[snapshot.publisher] else { return }
        end(publisher: index, reason: reason, at: now)
    }

    // MARK: From home to replica

    /// - Parameter parcel: what the bytes are, of the publisher with that number.
    mutating func shareWithReplicas(
        _ datagram: UnsafeRawBufferPointer, of index: Int,
        as shardMessage: (PeerID, Range<Int>) -> ShardMessageBatch.ShardMessage
    ) {
        let stream = streams.address(index)
        for replica in stream.pointee.replicas {
            shardLinks.give(datagram, to: replica.shard) { shardMessage(stream.pointee.peer, $0) }
        }
    }

    func news(of index: Int, at now: Instant) -> ReplicaUpdate {
        let stream = streams.address(index)
        return ReplicaUpdate(
            isAway: stream.pointee.isAway, resting: stream.pointee.receiver.resting,
            limit: stream.pointee.quality.sharedLimit, isPictureLeftOut: stream.pointee.quality.isPictureLeftOut,
            unansweredLayers: stream.pointee.receiver.unansweredLayers(at: now))
    }

    mutating func tellReplicas(of index: Int, at now: Instant) {
        guard !streams[index].replicas.isEmpty else { return }
        let news = news(of: index, at: now)
        for replica in streams[index].replicas {
            shardLinks.give(.news(streams[index].peer, news), to: replica.shard)
        }
    }

    mutating func takeFromHome(
        _ shardMessage: ShardMessageBatch.ShardMessage, of batch: ShardMessageBatch, at now: Instant
    ) {
        switch shardMessage {
        case .media(let peer, let range):
            guard let index = replicas[peer], !streams[index].isEnding else { return }
            receiveMedia(UnsafeRawBufferPointer(batch.bytes(range)), stream: index, at: now)
            schedule(publisher: index)
        case .control(let peer, let range):
            guard let index = replicas[peer], !streams[index].isEnding else { return }
            receiveControl(UnsafeRawBufferPointer(batch.bytes(range)), publisher: index, at: now)
        case .news(let peer, let news):
            guard let index = replicas[peer], !streams[index].isEnding else { return }
            streams[index].lastNews = now
            streams[index].isAway = news.isAway
            streams[index].receiver.follow(news.resting)
            streams[index].receiver.follow(unansweredLayers: news.unansweredLayers)
            streams[index].quality.sharedLimit = news.limit
            streams[index].quality.noteLimit(at: now)
            streams[index].quality.isPictureLeftOut = news.isPictureLeftOut
        case .ended(let peer, let reason):
            if let index = replicas[peer] { end(publisher: index, reason: reason, at: now) }
        default: preconditionFailure("a home shard must not send this message")
        }
    }

    // MARK: From replica to home

    /// Who takes what is told once more: what told of a change may have been lost.
    mutating func tellLinks(_ links: ViewersLinks, stream index: Int, to home: Int) {
        let stream = streams.address(index)
        shardLinks.give(.takers(stream.pointee.peer, stream.pointee.takers), to: home)
        var summary = StreamReplica.Links()
        summary.count = links.count
        summary.limited = links.limited
        summary.takers = links.takers
        summary.blind = links.blind
        summary.counted = stream.pointee.countedViewers
        let estimates = links.estimates.prefix(ShardMessageBatch.byteCapacity / MemoryLayout<Bitrate>.stride)
        estimates.withUnsafeBytes { bytes in
            shardLinks.give(bytes, to: home) { .links(stream.pointee.peer, summary, $0) }
        }
    }

    mutating func takeFromReplica(
        _ shardMessage: ShardMessageBatch.ShardMessage, of batch: ShardMessageBatch, at shard: Int, at now: Instant
    ) {
        switch shardMessage {
        case .keyFrameWanted(let peer, let layer, let isTentative):
            guard case .publisher(let index) = places[peer], !streams[index].isEnding,
                streams[index].layers.indices.contains(layer)
            else { return }
            requestKeyFrame(stream: index, layer: layer, isTentative: isTentative)
        case .takers(let peer, let takers): note(takers, of: peer, at: shard, at: now)
        case .links(let peer, let links, let range):
            guard let (index, replica) = replica(of: peer, at: shard) else { return }
            streams[index].replicas[replica].links = links
            streams[index].replicas[replica].estimates.removeAll(keepingCapacity: true)
            batch.bytes(range).withMemoryRebound(to: Bitrate.self) { estimates in
                streams[index].replicas[replica].estimates.append(contentsOf: estimates)
            }
        default: preconditionFailure("a replica must not send this message")
        }
    }

    private func replica(of peer: PeerID, at shard: Int) -> (stream: Int, replica: Int)? {
        guard case .publisher(let index) = places[peer], !streams[index].isEnding,
            let replica = streams[index].replicas.firstIndex(where: { $0.shard == shard })
        else { return nil }
        return (index, replica)
    }

    /// A replica counts as one taker of each track that anybody takes there.
    private mutating func note(_ takers: StreamReplica.Takers, of peer: PeerID, at shard: Int, at now: Instant) {
        guard let (index, replica) = replica(of: peer, at: shard) else { return }
        let before = streams[index].replicas[replica].takers
        guard takers != before else { return }
        streams[index].replicas[replica].takers = takers
        if takers.audio != before.audio {
            addTakers(takers.audio ? 1 : -1, of: .audio, stream: index, at: now)
        }
        for layer in streams[index].layers.indices {
            let bit: UInt8 = 1 << UInt8(layer)
            guard takers.layers & bit != before.layers & bit else { continue }
            let begins = takers.layers & bit != 0
            addTakers(begins ? 1 : -1, of: .video, layer: layer, stream: index, at: now)
            if begins, streams[index].receiver.isResting(.video, layer: layer) {
                // Nobody is shown what comes from before the pause.
                streams[index].layers[layer].forgetKeyFrame()
                requestKeyFrame(stream: index, layer: layer)
            }
        }
    }
}

extension PublishedStream {
    /// Which tracks anybody takes here.
    var takers: StreamReplica.Takers {
        var takers = StreamReplica.Takers()
        for layer in layers.indices where layers[layer].takers > 0 { takers.layers |= 1 << UInt8(layer) }
        takers.audio = audio.takers > 0
        return takers
    }

    /// Whether all its viewers are of this shard.
    var isHereAlone: Bool { home == nil && replicas.isEmpty }
}
