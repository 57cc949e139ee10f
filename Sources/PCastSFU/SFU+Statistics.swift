public import PCastCore
import PCastRTP
import PCastWebRTC

extension SFU {
    /// The statistics of each stream, including those of its viewers.
    public var figures: [StreamMetrics] { figures(ofViewers: true) }

    /// Returns the statistics of each stream. If `ofViewers` is false, the viewers' statistics are omitted, and the
    /// cost does not depend on the number of viewers.
    public func figures(ofViewers: Bool) -> [StreamMetrics] {
        var all: [StreamMetrics] = []
        for index in 0..<streams.endIndex where streams.contains(index) {
            all.append(figures(stream: index, ofViewers: ofViewers))
        }
        return all
    }

    private func figures(stream index: Int, ofViewers: Bool) -> StreamMetrics {
        let stream = streams.address(index)
        var figures = StreamMetrics(stream: stream.pointee.id)
        figures.isOfReplica = stream.pointee.home != nil
        figures.received = Self.counts(stream.pointee.receiver)
        figures.sent = stream.pointee.quality.departed
        figures.bitrate = stream.pointee.quality.bitrate
        figures.roundTrip = stream.pointee.receiver.roundTrip
        figures.limit = stream.pointee.quality.sharedLimit.bitrate
        figures.quality = stream.pointee.quality.machine.quality
        figures.viewers = stream.pointee.countedViewers
        if stream.pointee.layers.exist { figures.dimensions = stream.pointee.ladder.rungs.last?.dimensions }
        guard ofViewers else { return figures }
        for viewerIndex in stream.pointee.viewers {
            let viewer = viewers.address(viewerIndex)
            figures.sent += Self.counts(viewer.pointee.sender)
            guard viewer.pointee.isCounted else { continue }
            figures.viewerQualities[viewer.pointee.quality.machine.quality, default: 0] += 1
            if let layer = viewer.pointee.layers.current { figures.viewersOfLayers[layer, default: 0] += 1 }
            guard viewer.pointee.isWatching else { continue }
            figures.estimates.bitsPerSecond += viewer.pointee.sender.estimate.target.bitsPerSecond
            figures.estimatedViewers += 1
        }
        return figures
    }

    private static func counts(_ receiver: MediaReceiver) -> StreamMetrics.Counts {
        var counts = StreamMetrics.Counts()
        if let audio = receiver.audio { add(audio, to: &counts) }
        for layer in receiver.layers.indices { add(receiver.layers[layer], to: &counts) }
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
        for trackPointer in sender.tracks {
            let track = trackPointer.pointee
            counts.packets += Int(track.stream.packetsSent)
            counts.bytes += Int(track.stream.octetsSent)
            counts.packetsLost += Int(max(track.receiverReport?.cumulativeLost ?? 0, 0))
            counts.retransmissions += track.stream.packetsRetransmitted
            counts.nacks += track.nackCount
            counts.keyFrameRequests += track.pliCount
        }
        return counts
    }
}

/// The assignment of datagrams to peers.
extension SFU {
    /// Records a path after its peer has passed a check on it.
    mutating func remember(_ path: NetworkPath, _ peerIndex: PeerIndex) {
        guard paths[path] != peerIndex else { return }
        let stale: [NetworkPath]
        switch peerIndex {
        case .publisher(let index):
            guard streams[index].isValidated(path) else { return }
            stale = streams[index].rememberPath(path)
        case .viewer(let index):
            guard viewers[index].transport.isValidated(path) else { return }
            stale = viewers[index].rememberPath(path)
        }
        paths[path] = peerIndex
        notifyPeerShards(path, .validated)
        for path in stale { discard(path, of: peerIndex) }
    }

    mutating func remember(fragment: String, _ peerIndex: PeerIndex) {
        ufrags[fragment] = peerIndex
        let stale =
            switch peerIndex {
            case .publisher(let index): streams[index].routes.add(fragment: fragment)
            case .viewer(let index): viewers[index].routes.add(fragment: fragment)
            }
        if let stale { ufrags[stale] = nil }
    }

    /// Removes all keys of a peer.
    mutating func discard(_ routes: PeerKeys, of peerIndex: PeerIndex) {
        for fragment in routes.ufrags { ufrags[fragment] = nil }
        for source in routes.sources { sources.remove(source, peerIndex) }
        discard(probe: routes.probedPath, of: peerIndex)
        for path in routes.paths { discard(path, of: peerIndex) }
    }

    /// Removes a path unless another peer has taken it over. A connection that no peer uses any more is closed, because
    /// its peer may have disappeared without closing it.
    private mutating func discard(_ path: NetworkPath, of peerIndex: PeerIndex) {
        guard paths[path] == peerIndex else { return }
        paths[path] = nil
        notifyPeerShards(path, .left)
        if path.transport != .udp { events.append(.closeConnection(path)) }
    }

    /// Whether a peer has authenticated itself on a path.
    public func isPeer(_ path: NetworkPath) -> Bool { paths[path] != nil }

    /// Handles the end of a connection, for example over TCP.
    public mutating func pathClosed(_ path: NetworkPath, at now: Instant) {
        guard let peerIndex = paths.removeValue(forKey: path) else { return }
        switch peerIndex {
        case .publisher(let index):
            streams[index].routes.remove(path: path)
            streams[index].transport?.pathClosed(path, at: now)
            follow(publisher: index, at: now)
        case .viewer(let index):
            viewers[index].routes.remove(path: path)
            viewers[index].transport.pathClosed(path, at: now)
            follow(viewer: index, at: now)
        }
    }
}

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
