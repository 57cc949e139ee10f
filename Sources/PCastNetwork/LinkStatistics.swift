/// What became of all that was sent over one direction of a link.
public struct LinkStatistics: Hashable, Sendable {
    /// Packets and bytes with their IP headers.
    public internal(set) var sent = 0
    public internal(set) var delivered = 0
    public internal(set) var deliveredBytes = 0
    public internal(set) var duplicated = 0
    /// By the model of loss.
    public internal(set) var lost = 0
    /// Because the queue was full.
    public internal(set) var overflowed = 0
    /// Larger than passes.
    public internal(set) var oversized = 0
    /// Because the link was down.
    public internal(set) var cutOff = 0
    /// The largest packet that was sent, in bytes.
    public internal(set) var largestPacket = 0
    /// The most bytes that waited.
    public internal(set) var largestBacklog = 0

    public init() {}
}
