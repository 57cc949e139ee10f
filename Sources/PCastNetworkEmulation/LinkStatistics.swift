/// The counters of one direction of a link.
package struct LinkStatistics: Hashable, Sendable {
    /// The number of sent packets, including those that were dropped.
    package internal(set) var sent = 0
    /// The number of packets that arrived.
    package internal(set) var delivered = 0
    /// The bytes that arrived, including IP headers.
    package internal(set) var deliveredBytes = 0
    /// The number of duplicated packets.
    package internal(set) var duplicated = 0
    /// The number of packets that the loss model dropped.
    package internal(set) var lost = 0
    /// The number of packets that were dropped because the queue was full.
    package internal(set) var overflowed = 0
    /// The number of packets that were dropped because they were too large.
    package internal(set) var oversized = 0
    /// The number of packets that were dropped because the link was down.
    package internal(set) var cutOff = 0
    /// The size of the largest sent packet in bytes.
    package internal(set) var largestPacket = 0
    /// The maximum number of bytes in the queue.
    package internal(set) var largestBacklog = 0

    /// Creates counters of zero.
    package init() {}
}
