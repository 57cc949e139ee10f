/// What an event loop has counted since it started.
public struct EventLoopStatistics: Hashable, Sendable {
    public var received = 0
    public var sent = 0
    /// Datagrams that could not leave; a destination's own errors among them (IO8).
    public var sendErrors = 0
    /// Datagrams dropped because a socket, or a TCP connection's queue, was full (FAN5).
    public var sendDrops = 0
    /// Messages that the kernel cut into datagrams (UDP_SEGMENT), and the datagrams in them.
    public var segmentedMessages = 0
    public var segments = 0
    /// Datagrams larger than any of ours, which were ignored.
    public var truncated = 0
    /// Datagrams that the kernel dropped because we were too slow (IO9).
    public var kernelDrops = 0
    /// Work refused because the mailbox was full.
    public var mailboxOverflows = 0

    public init() {}
}
