/// The position of an SFU among several that share the same addresses, each on its own thread.
///
/// A datagram may arrive at any shard, which determines the peer's shard. The first character of the ufrag in a check
/// encodes the shard. Each shard notifies the others of the paths on which its peers have passed checks. Datagrams of
/// another shard's peer are forwarded (`ShardMessageBatch`).
public struct Shard: Hashable, Sendable {
    /// The maximum number of shards, which is what one character of a ufrag can encode.
    public static let maximumCount = 64

    /// The number of this shard, starting at 0.
    public let number: Int
    /// The number of shards.
    public let count: Int

    /// Creates the position of a shard. `number` must be less than `count`.
    public init(_ number: Int, of count: Int) {
        precondition((1...Self.maximumCount).contains(count) && (0..<count).contains(number))
        self.number = number
        self.count = count
    }

    /// The position of an SFU without other shards.
    public static let only = Shard(0, of: 1)

    var isAlone: Bool { count == 1 }

    /// The value of the first character of the SFU's ufrags; nil if there are no other shards.
    var mark: Int? { isAlone ? nil : number }
}
