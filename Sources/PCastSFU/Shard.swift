/// Which one a relay is of several that have their peers behind the same addresses, each on a thread of its own.
///
/// A datagram may come to any of them. That one knows whose it is: a check names a fragment whose first character tells the
/// shard, and of the paths that a peer has passed checks on, each tells the others. What is a neighbour's peer's is handed
/// over (`ShardMessageBatch`).
public struct Shard: Hashable, Sendable {
    /// One character of a fragment tells so many apart.
    public static let maximumCount = 64

    /// From 0.
    public let number: Int
    /// How many there are.
    public let count: Int

    public init(_ number: Int, of count: Int) {
        precondition((1...Self.maximumCount).contains(count) && (0..<count).contains(number))
        self.number = number
        self.count = count
    }

    /// One that has no neighbours.
    public static let only = Shard(0, of: 1)

    var isAlone: Bool { count == 1 }

    /// The first character of the fragments that it makes; nil where nobody has to be told apart.
    var mark: Int? { isAlone ? nil : number }
}
