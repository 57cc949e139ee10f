/// The counters of one direction of a link.
public struct LinkStatistics: Hashable, Sendable {
    /// The number of sent packets, including those that were dropped.
    public internal(set) var sent = 0
    /// The number of packets that arrived.
    public internal(set) var delivered = 0
    /// The bytes that arrived, including IP headers.
    public internal(set) var deliveredBytes = 0
    /// The number of duplicated packets.
    public internal(set) var duplicated = 0
    /// The number of packets that the loss model dropped.
    public internal(set) var lost = 0
    /// The number of packets that were dropped because the queue was full.
    public internal(set) var overflowed = 0
    /// The number of packets that were dropped because they were too large.
    public internal(set) var oversized = 0
    /// The number of packets that were dropped because the link was down.
    public internal(set) var cutOff = 0
    /// The size of the largest sent packet in bytes.
    public internal(set) var largestPacket = 0
    /// The maximum number of bytes in the queue.
    public internal(set) var largestBacklog = 0

    /// Creates counters of zero.
    public init() {}
}
