import PCastCore

/// What one shard has for another: made by one thread, taken by another, and given back to the first to be used again, by
/// rings of whoever drives them. Nothing of it is shared while it is written or read.
///
/// Unchecked: one thread has it at a time.
public final class ShardMessageBatch: @unchecked Sendable {
    /// One thing that is handed over; bytes lie in the batch.
    enum ShardMessage {
        /// What came from a peer of the other's, and when it did.
        case datagram(Range<Int>, from: NetworkPath, at: Instant)
        /// What came from nobody known: a peer of the other's, perhaps, that has moved.
        case unknownSource(Range<Int>, from: NetworkPath)
        case path(NetworkPath, PathClaim)

        // Of a stream, by its publisher's number: from its home to a replica.
        /// A packet of its publisher's in the clear.
        case media(PeerID, Range<Int>)
        case control(PeerID, Range<Int>)
        case news(PeerID, ReplicaUpdate)
        case ended(PeerID, StreamEndedReason)

        // And back.
        case keyFrameWanted(PeerID, layer: Int, isTentative: Bool)
        case takers(PeerID, StreamReplica.Takers)
        /// The bytes are estimates.
        case links(PeerID, StreamReplica.Links, Range<Int>)
    }

    /// What a path is to a shard's peer.
    enum PathClaim {
        /// It has passed a check there.
        case taken
        /// It is asked whether it is there, as what came from there seemed to be its.
        case asked
        /// Nothing any more.
        case left
    }

    /// What a batch holds, each in a queue of its own.
    enum Content {
        /// What shards have for each other.
        case exchange
        /// Datagrams that came to the wrong shard, and that nobody has authenticated.
        case datagrams
        /// Questions about unknown sources.
        case questions
    }

    static let byteCapacity = 64 * 1024
    static let parcelCapacity = 512

    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCapacity, alignment: 64)
    private var byteCount = 0
    /// The shard that it is made for.
    var reader = 0
    /// What it holds.
    var content = Content.exchange
    private(set) var shardMessages: [ShardMessage] = []

    init() { shardMessages.reserveCapacity(Self.parcelCapacity) }

    deinit { memory.deallocate() }

    var isEmpty: Bool { shardMessages.isEmpty }

    func hasRoom(for count: Int) -> Bool {
        shardMessages.count < Self.parcelCapacity && count <= Self.byteCapacity - byteCount
    }

    /// What is copied begins at a multiple of it, so that numbers may be read where they lie.
    private static let alignment = 8

    /// Keeps a copy of `bytes`; answers where it lies.
    func copy(_ bytes: UnsafeRawBufferPointer) -> Range<Int> {
        let range = byteCount..<byteCount + bytes.count
        UnsafeMutableRawBufferPointer(rebasing: memory[range]).copyMemory(from: bytes)
        byteCount = min((range.upperBound + Self.alignment - 1) & ~(Self.alignment - 1), Self.byteCapacity)
        return range
    }

    func append(_ shardMessage: ShardMessage) { shardMessages.append(shardMessage) }

    /// Whoever has the batch may overwrite them.
    func bytes(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: memory[range])
    }

    func removeAll() {
        byteCount = 0
        shardMessages.removeAll(keepingCapacity: true)
    }
}
