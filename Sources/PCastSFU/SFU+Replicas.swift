public import PCastCore
import PCastRTP
public import PCastWebRTC

/// Streams with viewers on several shards.
///
/// Each shard with viewers, except the publisher's, has a replica. The home shard sends it the publisher's decrypted
/// packets, one copy for each shard, and the replica processes them as the home shard does. It sends requests for the
/// publisher to the home shard.
extension SFU {
    /// The time without a message from the home shard after which a replica ends. The message about the end may be
    /// lost.
    static let replicaTimeout = TimeSpan.seconds(5 as Int64)

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
        guard let index = streamIndices[stream], streams[index].home == nil, !streams[index].isEnding else {
            throw .unknownStream(stream)
        }
        if !streams[index].replicas.contains(where: { $0.shard == shard }) {
            streams[index].replicas.append(StreamReplica(shard: shard))
            // The replica receives updates even while the publisher is not connected.
            let look = now + StreamQuality.linksInterval
            streams[index].quality.nextLinksLook = Instant.earlier(streams[index].quality.nextLinksLook, look)
            schedule(publisher: index)
        }
        return streams.address(index).pointee.snapshot
    }

    /// Creates the replica of a stream, unless it exists.
    public mutating func enterReplica(_ snapshot: StreamSnapshot, of home: Int, at now: Instant) {
        guard replicas[snapshot.publisher] == nil else { return }
        let index = streams.insert(PublishedStream(snapshot, home: home, at: now))
        replicas[snapshot.publisher] = index
        streamIndices[snapshot.id] = index
        schedule(publisher: index)
    }

    /// Whether a stream exists on this shard with that publisher and has not ended. The creator of a replica asks the
    /// home shard again, because a stream that ended meanwhile could not notify the replica.
    public func continuesHere(_ snapshot: StreamSnapshot) -> Bool {
        guard let index = streamIndices[snapshot.id] else { return false }
        return streams[index].peer == snapshot.publisher && !streams[index].isEnding
    }

    /// Ends a replica whose stream has ended.
    public mutating func endReplica(_ snapshot: StreamSnapshot, reason: StreamEndedReason, at now: Instant) {
        guard let index = replicas[snapshot.publisher] else { return }
        end(publisher: index, reason: reason, at: now)
    }

    // MARK: From home to replica

    /// Sends bytes of a publisher to all replicas. `shardMessage` creates the message from the publisher and the range
    /// of the bytes.
    mutating func shareWithReplicas(
        _ datagram: UnsafeRawBufferPointer, of index: Int,
        as shardMessage: (PeerID, Range<Int>) -> ShardMessageBatch.ShardMessage
    ) {
        let stream = streams.address(index)
        for replica in stream.pointee.replicas {
            shardLinks.give(datagram, to: replica.shard) { shardMessage(stream.pointee.peer, $0) }
        }
    }

    func update(of index: Int, at now: Instant) -> ReplicaUpdate {
        let stream = streams.address(index)
        return ReplicaUpdate(
            isAway: stream.pointee.isAway, pausedTracks: stream.pointee.receiver.pausedTracks,
            limit: stream.pointee.quality.sharedLimit, isVideoDropped: stream.pointee.quality.isVideoDropped,
            unansweredLayers: stream.pointee.receiver.unansweredLayers(at: now))
    }

    mutating func updateReplicas(of index: Int, at now: Instant) {
        guard !streams[index].replicas.isEmpty else { return }
        let update = update(of: index, at: now)
        for replica in streams[index].replicas {
            shardLinks.give(.update(streams[index].peer, update), to: replica.shard)
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
        case .update(let peer, let update):
            guard let index = replicas[peer], !streams[index].isEnding else { return }
            streams[index].lastUpdate = now
            streams[index].isAway = update.isAway
            streams[index].receiver.follow(update.pausedTracks)
            streams[index].receiver.follow(unansweredLayers: update.unansweredLayers)
            streams[index].quality.sharedLimit = update.limit
            streams[index].quality.noteLimit(at: now)
            streams[index].quality.isVideoDropped = update.isVideoDropped
        case .ended(let peer, let reason):
            if let index = replicas[peer] { end(publisher: index, reason: reason, at: now) }
        default: preconditionFailure("a home shard must not send this message")
        }
    }

    // MARK: From replica to home

    /// Sends a summary of the viewers' links. It repeats the subscriptions, because a message about a change may be
    /// lost.
    mutating func reportLinks(_ links: ViewersLinks, stream index: Int, to home: Int) {
        let stream = streams.address(index)
        shardLinks.give(.subscribers(stream.pointee.peer, stream.pointee.subscribers), to: home)
        var summary = StreamReplica.Links()
        summary.count = links.count
        summary.limited = links.limited
        summary.subscribers = links.subscribers
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
            guard case .publisher(let index) = peerIndices[peer], !streams[index].isEnding,
                streams[index].layers.indices.contains(layer)
            else { return }
            requestKeyFrame(stream: index, layer: layer, isTentative: isTentative)
        case .subscribers(let peer, let subscribers): note(subscribers, of: peer, at: shard, at: now)
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
        guard case .publisher(let index) = peerIndices[peer], !streams[index].isEnding,
            let replica = streams[index].replicas.firstIndex(where: { $0.shard == shard })
        else { return nil }
        return (index, replica)
    }

    /// Updates a replica's subscriptions. A replica counts as one subscriber of each track that has subscribers there.
    private mutating func note(
        _ subscribers: StreamReplica.SubscribedTracks, of peer: PeerID, at shard: Int, at now: Instant
    ) {
        guard let (index, replica) = replica(of: peer, at: shard) else { return }
        let before = streams[index].replicas[replica].subscribers
        guard subscribers != before else { return }
        streams[index].replicas[replica].subscribers = subscribers
        if subscribers.audio != before.audio {
            addSubscribers(subscribers.audio ? 1 : -1, of: .audio, stream: index, at: now)
        }
        for layer in streams[index].layers.indices {
            let bit: UInt8 = 1 << UInt8(layer)
            guard subscribers.layers & bit != before.layers & bit else { continue }
            let begins = subscribers.layers & bit != 0
            addSubscribers(begins ? 1 : -1, of: .video, layer: layer, stream: index, at: now)
            if begins, streams[index].receiver.isPaused(.video, layer: layer) {
                // No viewer receives a key frame from before the pause.
                streams[index].layers[layer].discardKeyFrame()
                requestKeyFrame(stream: index, layer: layer)
            }
        }
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
    var isHereAlone: Bool { home == nil && replicas.isEmpty }
}

/// The state that another shard needs to create a replica of a stream.
///
/// The publisher's packets arrive at the home shard, which forwards them to the replica. Some state, such as which SSRC
/// is which layer, is sent only once by the publisher, and the replica would miss it.
public struct StreamSnapshot: Sendable {
    /// The identifier of the stream.
    public let id: StreamID
    /// The number of the publisher, by which shards identify the stream.
    let publisher: PeerID
    let media: [NegotiatedMedia]
    let playout: TimeSpan?
    let receiver: MediaReceiver
    let clock: PublisherClock
    let ladder: LayerLadder
    let quality: StreamQuality
    let layers: [TrackSnapshot]
    let audio: TrackSnapshot
}

/// The reason why a peer was not admitted, or an operation on it failed.
public enum SFUError: Error, Hashable, Sendable {
    /// The peer's session description is unusable.
    case description(SDPError)
    /// No offered codec is supported or, for a viewer, no offered codec can decode the stream.
    case noCommonCodec
    /// These sections would omit a track that the publisher wants to send, or that the viewer wants to receive and the
    /// stream has. Such a session is rejected rather than incomplete (RFC 9725, section 4.4.3). The list is never
    /// empty.
    case unacceptable([SectionProblem])
    /// No media flow in the required direction: a publisher sends, a viewer receives.
    case wrongDirection
    /// The stream does not exist or is ending.
    case unknownStream(StreamID)
    /// The stream already has a publisher.
    case streamExists(StreamID)
    /// The peer does not exist or has left.
    case unknownPeer
    /// The peer answers without an offer, or a second time.
    case noOffer
    /// The stream has no layer with this name.
    case unknownLayer(String)
    /// The SFU has the maximum number of peers.
    case full
}

/// The home shard's knowledge of the viewers on another shard, as of that shard's last message.
struct StreamReplica {
    /// The tracks that have subscribers on the shard.
    struct SubscribedTracks: Hashable {
        /// The video layers, as bits.
        var layers: UInt8 = 0
        var audio = false
    }

    /// A summary of the viewers' links.
    struct Links: Hashable {
        var count = 0
        var limited = 0
        var subscribers = 0
        var blind = 0
        /// The number of viewers that count as such.
        var counted = 0
    }

    let shard: Int
    var subscribers = SubscribedTracks()
    var links = Links()
    /// The bandwidth estimate of each known link.
    var estimates: [Bitrate] = []
}

/// The state of a stream that its home sends to its replicas, in addition to packets.
struct ReplicaUpdate {
    var isAway: Bool
    var pausedTracks: PausedTracks
    /// The limit that is requested from the publisher.
    var limit: SharedLimit
    var isVideoDropped: Bool
    /// The layers whose publisher leaves requests for key frames unanswered, as bits.
    var unansweredLayers: UInt8
}
