public import PCastCore
import PCastRTP
import PCastWebRTC

/// The links between the shards of an SFU.
extension SFU {
    // MARK: Driving

    /// The maximum number of message batches that the SFU has in use for one other shard.
    public static var maximumShardMessageBatches: Int {
        ShardLinks.maximumBatches + ShardLinks.maximumDatagramBatches + ShardLinks.maximumQuestionBatches
    }

    /// Returns the next batch for another shard; nil if there is none. The driver delivers batches complete and in
    /// order, and asks after each iteration.
    public mutating func pollMessages() -> (shard: Int, batch: ShardMessageBatch)? { shardLinks.poll() }

    /// Whether batches are held for a shard that has not returned earlier ones. The driver polls again when a batch is
    /// returned.
    public var hasPendingMessages: Bool { shardLinks.isHolding }

    /// The number of messages that are prefetched together.
    private static var prefetchDistance: Int { 8 }

    /// Processes a batch from another shard. The driver then returns the batch to that shard (`takeBack`).
    public mutating func take(_ batch: ShardMessageBatch, from peerShard: Int, at now: Instant) {
        for (index, shardMessage) in batch.shardMessages.enumerated() {
            if index % Self.prefetchDistance == 0 {
                expect(batch.shardMessages[index...].prefix(Self.prefetchDistance))
            }
            switch shardMessage {
            case .datagram(let range, let path, let arrival):
                let datagram = batch.bytes(range)
                guard let peerIndex = findPeer(of: datagram, from: path) else {
                    unknownSourceDatagrams += 1
                    continue
                }
                waited = max(now - arrival, .zero)
                receive(datagram, from: path, of: peerIndex, at: now)
                waited = .zero
            case .unknownSource(let range, let path): _ = handleMigration(batch.bytes(range), from: path, at: now)
            case .path(let path, let claim): note(claim, of: peerShard, to: path)
            case .media, .control, .update, .ended: takeFromHome(shardMessage, of: batch, at: now)
            case .keyFrameWanted, .subscribers, .links: takeFromReplica(shardMessage, of: batch, at: peerShard, at: now)
            }
        }
    }

    /// Prefetches the state of viewers, as the loop does for datagrams from a socket.
    private mutating func expect(_ shardMessages: ArraySlice<ShardMessageBatch.ShardMessage>) {
        withUnsafeTemporaryAllocation(of: NetworkPath.self, capacity: Self.prefetchDistance) { paths in
            var count = 0
            for case .datagram(_, let path, _) in shardMessages {
                paths.initializeElement(at: count, to: path)
                count += 1
            }
            guard count > 1 else { return }
            expect(from: Span(_unsafeElements: UnsafeBufferPointer(rebasing: paths[..<count])))
        }
    }

    /// Returns a batch that this SFU created, so that it is reused.
    public mutating func takeBack(_ batch: ShardMessageBatch) { shardLinks.takeBack(batch) }

    /// The number of messages that were dropped because another shard did not keep up.
    public var shardMessagesLost: Int { shardLinks.lost + shardLinks.datagramsLost }

    /// Returns the shard whose peer a connectivity check names by its ufrag. Returns nil for this shard, and for all
    /// other datagrams.
    public func peerShard(of datagram: UnsafeMutableRawBufferPointer) -> Int? {
        guard shardLinks.exist else { return nil }
        let bytes = Span<UInt8>(_unsafeBytes: UnsafeRawBufferPointer(datagram))
        guard DatagramKind(bytes) == .stun, let message = STUNMessage.parse(bytes), message.messageClass == .request,
            let name = message.recipientRange(in: bytes), let first = name.first,
            let number = ICECredentials.mark(of: bytes[first]), number != shardLinks.shard.number,
            number < shardLinks.shard.count
        else { return nil }
        return number
    }

    // MARK: Datagrams

    /// Forwards a datagram to the shard of its peer. Returns true if another shard has the peer. Such datagrams have a
    /// queue of their own, because they are not authenticated yet.
    mutating func transfer(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant
    ) -> Bool {
        guard let owner = peerShard(of: datagram) ?? shardLinks.paths[path] else { return false }
        shardLinks.forward(UnsafeRawBufferPointer(datagram), to: owner) {
            .datagram($0, from: path, at: now - waited)
        }
        return true
    }

    /// Asks the other shards whether a datagram belongs to a peer of theirs that has migrated. The rate is limited,
    /// because anybody can send such datagrams.
    mutating func askPeerShards(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant
    ) {
        guard shardLinks.exist, path.transport == .udp, Self.source(of: datagram) != nil,
            shardLinks.mayAsk(at: now)
        else { return }
        for peerShard in shardLinks.others {
            shardLinks.ask(UnsafeRawBufferPointer(datagram), peerShard) { .unknownSource($0, from: path) }
        }
    }

    private mutating func note(_ claim: ShardMessageBatch.PathOwnership, of peerShard: Int, to path: NetworkPath) {
        switch claim {
        case .validated:
            // Another peer uses the path now.
            paths[path] = nil
            probedPaths[path] = nil
            shardLinks.note(path, of: peerShard)
        case .asked:
            if paths[path] == nil, shardLinks.paths[path] == nil { shardLinks.note(path, of: peerShard) }
        case .left: shardLinks.discard(path, of: peerShard)
        }
    }

    /// Notifies the other shards of the state of a path of this shard.
    mutating func notifyPeerShards(_ path: NetworkPath, _ claim: ShardMessageBatch.PathOwnership) {
        guard shardLinks.exist, path.transport == .udp else { return }
        if claim == .validated, let former = shardLinks.paths[path] { shardLinks.discard(path, of: former) }
        for peerShard in shardLinks.others { shardLinks.give(.path(path, claim), to: peerShard) }
    }
}
