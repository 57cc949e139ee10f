public import PCastCore
import PCastRTP
import PCastWebRTC

/// What is between the shards of a relay.
extension SFU {
    // MARK: Driving

    /// Batches of parcels that a relay makes for one neighbour at most.
    public static var maximumShardMessageBatches: Int {
        ShardLinks.maximumBatches + ShardLinks.maximumDatagramBatches + ShardLinks.maximumQuestionBatches
    }

    /// What is to be brought to a neighbour, whole and in order; nil when there is none more. To be asked after each turn.
    public mutating func pollParcels() -> (shard: Int, batch: ShardMessageBatch)? { shardLinks.poll() }

    /// Whether there is more, for a neighbour that has not read what it was brought. To be polled again when it gives a batch
    /// back.
    public var isHoldingParcels: Bool { shardLinks.isHolding }

    /// Parcels that are looked at before the first of them.
    private static var foresight: Int { 8 }

    /// Takes in what a neighbour has handed over. The batch is to be given back to the neighbour (`takeBack`).
    public mutating func take(_ batch: ShardMessageBatch, from peerShard: Int, at now: Instant) {
        for (index, shardMessage) in batch.shardMessages.enumerated() {
            if index % Self.foresight == 0 { expect(batch.shardMessages[index...].prefix(Self.foresight)) }
            switch shardMessage {
            case .datagram(let range, let path, let arrival):
                let datagram = batch.bytes(range)
                guard let place = place(of: datagram, from: path) else {
                    unknownSourceDatagrams += 1
                    continue
                }
                waited = max(now - arrival, .zero)
                receive(datagram, from: path, of: place, at: now)
                waited = .zero
            case .unknownSource(let range, let path): _ = handleMigration(batch.bytes(range), from: path, at: now)
            case .path(let path, let claim): note(claim, of: peerShard, to: path)
            case .media, .control, .news, .ended: takeFromHome(shardMessage, of: batch, at: now)
            case .keyFrameWanted, .takers, .links: takeFromReplica(shardMessage, of: batch, at: peerShard, at: now)
            }
        }
    }

    /// As the loop does with what comes by a socket.
    private mutating func expect(_ shardMessages: ArraySlice<ShardMessageBatch.ShardMessage>) {
        withUnsafeTemporaryAllocation(of: NetworkPath.self, capacity: Self.foresight) { paths in
            var count = 0
            for case .datagram(_, let path, _) in shardMessages {
                paths.initializeElement(at: count, to: path)
                count += 1
            }
            guard count > 1 else { return }
            expect(from: Span(_unsafeElements: UnsafeBufferPointer(rebasing: paths[..<count])))
        }
    }

    /// A batch that this relay has made, to be used again.
    public mutating func takeBack(_ batch: ShardMessageBatch) { shardLinks.takeBack(batch) }

    /// What could not be handed over, for neighbours that do not keep up.
    public var shardMessagesLost: Int { shardLinks.lost + shardLinks.datagramsLost }

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

    /// Hands over what is of a neighbour's peer; answers whether it was. Nobody has authenticated it yet, so that it has a
    /// queue of its own.
    mutating func handOver(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant
    ) -> Bool {
        guard let owner = peerShard(of: datagram) ?? shardLinks.paths[path] else { return false }
        shardLinks.forward(UnsafeRawBufferPointer(datagram), to: owner) {
            .datagram($0, from: path, at: now - waited)
        }
        return true
    }

    /// Asks the neighbours whether it is of a peer of theirs that has moved: no more often than peers move, since anybody
    /// can send what has to be asked about.
    mutating func askNeighbours(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant
    ) {
        guard shardLinks.exist, path.transport == .udp, Self.source(of: datagram) != nil,
            shardLinks.mayAsk(at: now)
        else { return }
        for peerShard in shardLinks.others {
            shardLinks.ask(UnsafeRawBufferPointer(datagram), peerShard) { .unknownSource($0, from: path) }
        }
    }

    private mutating func note(_ claim: ShardMessageBatch.PathClaim, of peerShard: Int, to path: NetworkPath) {
        switch claim {
        case .taken:
            // Another peer is behind it now (ICE13).
            paths[path] = nil
            probedPaths[path] = nil
            shardLinks.note(path, of: peerShard)
        case .asked:
            if paths[path] == nil, shardLinks.paths[path] == nil { shardLinks.note(path, of: peerShard) }
        case .left: shardLinks.forget(path, of: peerShard)
        }
    }

    /// Tells what a path is to a peer of ours from now on.
    mutating func tellNeighbours(_ path: NetworkPath, _ claim: ShardMessageBatch.PathClaim) {
        guard shardLinks.exist, path.transport == .udp else { return }
        if claim == .taken, let former = shardLinks.paths[path] { shardLinks.forget(path, of: former) }
        for peerShard in shardLinks.others { shardLinks.give(.path(path, claim), to: peerShard) }
    }
}
