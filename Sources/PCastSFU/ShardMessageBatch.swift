import PCastCore
import PCastRTP

/// Messages from one shard to another. One thread fills a batch, another reads it and returns it to the first for
/// reuse.
///
/// The driver transfers batches through ring buffers. It is unchecked `Sendable` because only one thread has it at a
/// time.
public final class ShardMessageBatch: @unchecked Sendable {
    /// A message. Its bytes are stored in the batch.
    enum ShardMessage {
        /// A datagram from a peer of the other shard, with its arrival time.
        case datagram(Range<Int>, DatagramKind, from: NetworkPath, at: Instant)
        /// A datagram from an unknown source, which may be a peer of the other shard that has migrated.
        case unknownSource(Range<Int>, DatagramKind, from: NetworkPath)
        case path(NetworkPath, PathOwnership)

        // The following messages concern a stream, which the number of its publisher identifies. The publisher's shard
        // sends them to a replica.
        /// A decrypted packet of the publisher.
        case media(PeerID, Range<Int>)
        case control(PeerID, Range<Int>)
        case update(PeerID, ReplicaUpdate)
        case ended(PeerID, StreamEndedReason)

        // The following messages go from a replica to the publisher's shard.
        case keyFrameWanted(PeerID, layer: Int, isTentative: Bool)
        case subscribers(PeerID, StreamReplica.SubscribedTracks)
        /// A summary of the viewers' links. The bytes are bandwidth estimates.
        case links(PeerID, StreamReplica.Links, Range<Int>)
    }

    /// The state of a path for a peer of the sending shard.
    enum PathOwnership {
        /// The peer has passed a check on the path.
        case validated
        /// The peer is being checked on the path, because it seems to have sent from there.
        case asked
        /// The path has no peer any more.
        case left
    }

    /// The kind of messages in a batch. Each kind has its own queue.
    enum Content {
        /// Messages between streams and replicas, and about paths.
        case streams
        /// Datagrams that arrived at the wrong shard from the path of a known peer, and are not authenticated.
        case datagrams
        /// Connectivity checks that arrived at the wrong shard from an unknown path.
        case checks
        /// Questions about unknown sources.
        case questions
    }

    static let byteCapacity = 64 * 1024
    static let messageCapacity = 512

    private let memory = ByteStorage(byteCount: byteCapacity, alignment: 64)
    private var byteCount = 0
    /// The shard that reads the batch.
    var reader = 0
    /// The kind of its messages.
    var content = Content.streams
    private(set) var shardMessages: [ShardMessage] = []

    init() { shardMessages.reserveCapacity(Self.messageCapacity) }

    var isEmpty: Bool { shardMessages.isEmpty }

    func hasSpace(for count: Int) -> Bool {
        shardMessages.count < Self.messageCapacity && count <= Self.byteCapacity - byteCount
    }

    /// The alignment of copied bytes, so that numbers are aligned.
    private static let alignment = 8

    /// Copies bytes into the batch and returns their range.
    func copy(_ bytes: ByteView) -> Range<Int> {
        let range = byteCount..<byteCount + bytes.count
        memory.bytes.extracting(range).copyMemory(from: bytes)
        byteCount = min((range.upperBound + Self.alignment - 1) & ~(Self.alignment - 1), Self.byteCapacity)
        return range
    }

    func append(_ shardMessage: ShardMessage) { shardMessages.append(shardMessage) }

    /// The bytes of a message. The current owner of the batch may overwrite them.
    func bytes(_ range: Range<Int>) -> MutableByteView {
        memory.bytes.extracting(range)
    }

    func removeAll() {
        byteCount = 0
        shardMessages.removeAll(keepingCapacity: true)
    }
}
