public import PCastCore
import PCastRTP
import PCastWebRTC

/// Streams with viewers on several shards.
///
/// Each shard with viewers, except the publisher's shard, has a replica. The publisher's shard sends it the decrypted
/// packets, one copy for each shard, and the replica processes them as the publisher's shard does. It sends
/// requests for the publisher to the publisher's shard.
extension SFU {
    // MARK: Making one

    /// Starts to send a stream's packets to another shard, unless it receives them already.
    ///
    /// - Parameters:
    ///   - stream: The stream's identifier.
    ///   - shard: The number of the other shard.
    ///   - now: The current time.
    /// - Returns: The snapshot for `enterReplica` on the other shard.
    /// - Throws: `SFUError.unknownStream` if this shard does not have the publisher.
    public mutating func replicate(
        _ stream: StreamID, to shard: Int, at now: Instant
    ) throws(SFUError) -> StreamSnapshot {
        guard let index = streamIndices[stream], forwarder.streams[index].publisherShard == nil,
            !forwarder.streams[index].isEnding
        else {
            throw .unknownStream(stream)
        }
        if !forwarder.streams[index].replicas.contains(where: { $0.shard == shard }) {
            forwarder.streams[index].replicas.append(StreamReplica(shard: shard))
            // The replica receives updates even while the publisher is not connected.
            let look = now + StreamQuality.linksInterval
            forwarder.streams[index].quality.nextLinksCheck = Instant.earlier(
                forwarder.streams[index].quality.nextLinksCheck, look)
            forwarder.schedule(publisher: index)
        }
        return forwarder.streams.address(index).pointee.snapshot
    }

    /// Creates the replica of a stream, unless it exists.
    public mutating func enterReplica(_ snapshot: StreamSnapshot, of publisherShard: Int, at now: Instant) {
        guard replicas[snapshot.publisher] == nil else { return }
        let index = forwarder.streams.insert(PublishedStream(snapshot, publisherShard: publisherShard, at: now))
        replicas[snapshot.publisher] = index
        streamIndices[snapshot.id] = index
        forwarder.schedule(publisher: index)
    }

    /// Whether a stream exists on this shard with that publisher and has not ended. The creator of a replica asks the
    /// publisher's shard again, because a stream that ended meanwhile could not notify the replica.
    public func continuesHere(_ snapshot: StreamSnapshot) -> Bool {
        guard let index = streamIndices[snapshot.id] else { return false }
        return forwarder.streams[index].peer == snapshot.publisher && !forwarder.streams[index].isEnding
    }

    /// Ends a replica whose stream has ended.
    public mutating func endReplica(_ snapshot: StreamSnapshot, reason: StreamEndedReason, at now: Instant) {
        guard let index = replicas[snapshot.publisher] else { return }
        end(publisher: index, reason: reason, at: now)
    }

    // MARK: From the publisher's shard to replicas

    mutating func takeFromPublisherShard(
        _ shardMessage: ShardMessageBatch.ShardMessage, of batch: ShardMessageBatch, at now: Instant
    ) {
        switch shardMessage {
        case .media(let peer, let range):
            guard let index = replicas[peer], !forwarder.streams[index].isEnding else { return }
            forwarder.receiveMedia(ByteView(batch.bytes(range)), stream: index, at: now)
            forwarder.schedule(publisher: index)
        case .control(let peer, let range):
            guard let index = replicas[peer], !forwarder.streams[index].isEnding else { return }
            forwarder.receiveControl(ByteView(batch.bytes(range)), stream: index, at: now)
        case .update(let peer, let update):
            guard let index = replicas[peer], !forwarder.streams[index].isEnding else { return }
            forwarder.streams[index].lastUpdate = now
            forwarder.streams[index].isAway = update.isAway
            forwarder.streams[index].receiver.follow(update.pausedTracks)
            forwarder.streams[index].receiver.follow(unansweredLayers: update.unansweredLayers)
            forwarder.streams[index].quality.sharedLimit = update.limit
            forwarder.streams[index].quality.noteLimit(at: now)
            forwarder.streams[index].quality.isVideoDropped = update.isVideoDropped
        case .ended(let peer, let reason):
            if let index = replicas[peer] { end(publisher: index, reason: reason, at: now) }
        default: preconditionFailure("the publisher's shard must not send this message")
        }
    }

    // MARK: From replicas to the publisher's shard

    mutating func takeFromReplica(
        _ shardMessage: ShardMessageBatch.ShardMessage, of batch: ShardMessageBatch, at shard: Int, at now: Instant
    ) {
        switch shardMessage {
        case .keyFrameWanted(let peer, let layer, let isTentative):
            guard case .publisher(let index) = peers[peer], !forwarder.streams[index].isEnding,
                forwarder.streams[index].layers.indices.contains(layer)
            else { return }
            forwarder.requestKeyFrame(stream: index, layer: layer, isTentative: isTentative)
        case .subscribers(let peer, let subscribers):
            guard let (index, replica) = replica(of: peer, at: shard) else { return }
            forwarder.note(subscribers, ofReplica: replica, stream: index, at: now)
        case .links(let peer, let links, let range):
            guard let (index, replica) = replica(of: peer, at: shard) else { return }
            forwarder.streams[index].replicas[replica].links = links
            forwarder.streams[index].replicas[replica].estimates.removeAll(keepingCapacity: true)
            let bytes = batch.bytes(range)
            for offset in stride(from: 0, to: bytes.count, by: MemoryLayout<Bitrate>.stride) {
                let bitsPerSecond = bytes.loadUnaligned(fromByteOffset: offset, as: Int64.self)
                forwarder.streams[index].replicas[replica].estimates.append(Bitrate(bitsPerSecond: bitsPerSecond))
            }
        default: preconditionFailure("a replica must not send this message")
        }
    }

    private func replica(of peer: PeerID, at shard: Int) -> (stream: Int, replica: Int)? {
        guard case .publisher(let index) = peers[peer], !forwarder.streams[index].isEnding,
            let replica = forwarder.streams[index].replicas.firstIndex(where: { $0.shard == shard })
        else { return nil }
        return (index, replica)
    }
}

extension PublishedStream {
    /// The tracks that have subscribers on this shard.
    var subscribers: StreamReplica.SubscribedTracks {
        var subscribers = StreamReplica.SubscribedTracks()
        for layer in layers.indices where layers[layer].subscribers > 0 { subscribers.layers |= 1 << UInt8(layer) }
        subscribers.audio = audio.subscribers > 0
        return subscribers
    }

    /// Whether all viewers are on this shard.
    var isHereAlone: Bool { publisherShard == nil && replicas.isEmpty }
}

/// The links between the shards of an SFU.
extension SFU {
    // MARK: Driving

    /// The maximum number of message batches that the SFU has in use for one other shard.
    public static var maximumShardMessageBatches: Int {
        ShardLinks.maximumBatches + ShardLinks.maximumDatagramBatches + ShardLinks.maximumCheckBatches
            + ShardLinks.maximumQuestionBatches
    }

    /// Returns the next batch for another shard; nil if there is none. The driver delivers batches complete and in
    /// order, and asks after each iteration.
    public mutating func pollMessages() -> (shard: Int, batch: ShardMessageBatch)? { forwarder.shardLinks.poll() }

    /// Whether batches are held for a shard that has not returned earlier ones. The driver polls again when a batch is
    /// returned.
    public var hasPendingMessages: Bool { forwarder.shardLinks.isHolding }

    /// The number of messages that are prefetched together.
    private static var prefetchDistance: Int { 8 }

    /// Processes a batch from another shard. The driver then returns the batch to that shard (`takeBack`).
    public mutating func take(_ batch: ShardMessageBatch, from peerShard: Int, at now: Instant) {
        for (index, shardMessage) in batch.shardMessages.enumerated() {
            if index % Self.prefetchDistance == 0 {
                expect(batch.shardMessages[index...].prefix(Self.prefetchDistance))
            }
            switch shardMessage {
            case .datagram(let range, let kind, let path, let arrival):
                let waited = max(now - arrival, .zero)
                handleForwarded(ReceivedDatagram(batch.bytes(range), kind, from: path, waited: waited), at: now)
            case .unknownSource(let range, let kind, let path):
                _ = handleMigration(ReceivedDatagram(batch.bytes(range), kind, from: path), at: now)
            case .path(let path, let claim): note(claim, of: peerShard, to: path)
            case .media, .control, .update, .ended: takeFromPublisherShard(shardMessage, of: batch, at: now)
            case .keyFrameWanted, .subscribers, .links: takeFromReplica(shardMessage, of: batch, at: peerShard, at: now)
            }
        }
    }

    /// Prefetches the state of viewers, as the loop does for datagrams from a socket.
    private mutating func expect(_ shardMessages: ArraySlice<ShardMessageBatch.ShardMessage>) {
        withTemporaryElements(of: NetworkPath.self, capacity: Self.prefetchDistance) { paths in
            for case .datagram(_, _, let path, _) in shardMessages { paths.append(path) }
            if paths.count > 1 { expect(from: paths.span) }
        }
    }

    /// Returns a batch that this SFU created, so that it is reused.
    public mutating func takeBack(_ batch: ShardMessageBatch) { forwarder.shardLinks.takeBack(batch) }

    /// The number of messages that were dropped because another shard did not keep up. It does not include
    /// ``shardChecksLost``.
    public var shardMessagesLost: Int { forwarder.shardLinks.lost + forwarder.shardLinks.datagramsLost }

    /// The number of connectivity checks from unknown paths that were dropped, because more arrived at the wrong shard
    /// than are forwarded.
    public var shardChecksLost: Int { forwarder.shardLinks.checksLost }

    /// Returns the shard whose peer a connectivity check names by its ufrag. Returns nil for this shard, and for all
    /// other datagrams.
    public func peerShard(of datagram: MutableByteView) -> Int? {
        let bytes = datagram.span
        guard forwarder.shardLinks.exist, DatagramKind(bytes) == .stun else { return nil }
        return peerShard(of: STUNMessage.parse(bytes), in: bytes)
    }

    /// Returns the other shard whose peer a parsed STUN request names; nil for any other message.
    func peerShard(of message: STUNMessage?, in bytes: Span<UInt8>) -> Int? {
        guard forwarder.shardLinks.exist, let message, message.messageClass == .request,
            let name = message.recipientRange(in: bytes), let first = name.first,
            let number = ICECredentials.mark(of: bytes[first]), number != forwarder.shardLinks.shard.number,
            number < forwarder.shardLinks.shard.count
        else { return nil }
        return number
    }

    // MARK: Datagrams

    /// Forwards a datagram to the shard of its peer. Returns true if another shard has the peer.
    ///
    /// Such datagrams have queues of their own, because they are not authenticated yet. Anybody can send connectivity
    /// checks, so those from unknown paths do not share the queue of known peers. `namedShard` is the shard that a
    /// check names by its ufrag.
    mutating func transfer(_ datagram: ReceivedDatagram, namedShard: Int?, at now: Instant) -> Bool {
        let shardOfPath = forwarder.shardLinks.paths[datagram.path]
        guard let owner = namedShard ?? shardOfPath else { return false }
        let bytes = ByteView(datagram.bytes)
        let arrival = now - datagram.waited
        if owner == shardOfPath {
            forwarder.shardLinks.forward(bytes, to: owner) {
                .datagram($0, datagram.kind, from: datagram.path, at: arrival)
            }
        } else {
            forwarder.shardLinks.forwardCheck(bytes, to: owner) {
                .datagram($0, datagram.kind, from: datagram.path, at: arrival)
            }
        }
        return true
    }

    /// Asks the other shards whether a datagram belongs to a peer of theirs that has migrated. The rate is limited,
    /// because anybody can send such datagrams.
    mutating func askPeerShards(_ datagram: ReceivedDatagram, at now: Instant) {
        guard forwarder.shardLinks.exist, datagram.path.transport == .udp, datagram.source != nil,
            forwarder.shardLinks.mayAsk(at: now)
        else { return }
        for peerShard in forwarder.shardLinks.others {
            forwarder.shardLinks.ask(ByteView(datagram.bytes), peerShard) {
                .unknownSource($0, datagram.kind, from: datagram.path)
            }
        }
    }

    private mutating func note(_ claim: ShardMessageBatch.PathOwnership, of peerShard: Int, to path: NetworkPath) {
        switch claim {
        case .validated:
            // Another peer uses the path now.
            peers.cede(path)
            forwarder.shardLinks.note(path, of: peerShard)
        case .asked:
            if peers.paths[path] == nil, forwarder.shardLinks.paths[path] == nil {
                forwarder.shardLinks.note(path, of: peerShard)
            }
        case .left: forwarder.shardLinks.discard(path, of: peerShard)
        }
    }

    /// Notifies the other shards of the state of a path of this shard.
    mutating func notifyPeerShards(_ path: NetworkPath, _ claim: ShardMessageBatch.PathOwnership) {
        guard forwarder.shardLinks.exist, path.transport == .udp else { return }
        if claim == .validated, let former = forwarder.shardLinks.paths[path] {
            forwarder.shardLinks.discard(path, of: former)
        }
        for peerShard in forwarder.shardLinks.others { forwarder.shardLinks.give(.path(path, claim), to: peerShard) }
    }
}
