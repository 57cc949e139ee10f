/// What an event loop has counted since it started.
public struct EventLoopStatistics: Hashable, Sendable {
    /// Datagrams, and frames of TCP, that the machine was given.
    public var received = 0

    /// Datagrams that the kernel took, and frames that a connection's queue took.
    public var sent = 0

    /// Datagrams that could not leave; a destination's own errors among them (IO8).
    public var sendErrors = 0

    /// Datagrams dropped because a socket, or a TCP connection's queue, was full (FAN5).
    public var sendDrops = 0

    /// Messages that the kernel cut into datagrams (UDP_SEGMENT).
    public var segmentedMessages = 0

    /// The datagrams in them: divided by their number, the mean length of a run (IO2).
    public var segments = 0

    /// Messages that the kernel refused to cut; their datagrams were sent one by one (IO1).
    public var segmentationRefusals = 0

    /// Messages in which the kernel handed on several datagrams (UDP_GRO).
    public var coalescedMessages = 0

    /// The datagrams in them.
    public var coalesced = 0

    /// Datagrams larger than any of ours, which were ignored.
    public var truncated = 0

    /// Datagrams that the kernel dropped because we were too slow (IO9).
    public var kernelDrops = 0

    /// Work refused because the mailbox was full.
    public var mailboxOverflows = 0

    /// TCP connections that are open now.
    public var connections = 0

    /// TCP connections closed on arrival because of the limit.
    public var connectionsRefused = 0

    public init() {}
}
