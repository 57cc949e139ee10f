/// The counters of an event loop since its start.
public struct EventLoopStatistics: Hashable, Sendable {
    /// The number of datagrams and TCP frames that the machine received.
    public var received = 0

    /// The number of datagrams that the kernel accepted, and of frames that the queue of a connection accepted.
    public var sent = 0

    /// The number of datagrams that could not be sent, including errors that only concern one destination.
    public var sendErrors = 0

    /// The number of datagrams and frames that were dropped because a socket or the queue of a TCP connection was full.
    public var sendDrops = 0

    /// The number of messages that the kernel split into datagrams (`UDP_SEGMENT`).
    public var segmentedMessages = 0

    /// The number of datagrams in those messages. Divided by the number of messages, it is the average size of a GSO
    /// batch.
    public var segments = 0

    /// The number of messages that the kernel refused to split. Their datagrams were sent individually.
    public var segmentationRefusals = 0

    /// The number of received messages in which the kernel combined datagrams (`UDP_GRO`).
    public var coalescedMessages = 0

    /// The number of datagrams in those messages.
    public var coalesced = 0

    /// The number of ignored datagrams that were larger than the receive buffer.
    public var truncated = 0

    /// The number of datagrams that the kernel dropped because the receive buffer was full (`SO_RXQ_OVFL`).
    public var kernelDrops = 0

    /// The number of work items that were rejected because the mailbox was full.
    public var mailboxOverflows = 0

    /// The number of open TCP connections.
    public var connections = 0

    /// The number of TCP connections that were closed on arrival because of the limit.
    public var connectionsRefused = 0

    /// Creates counters of zero.
    public init() {}
}
