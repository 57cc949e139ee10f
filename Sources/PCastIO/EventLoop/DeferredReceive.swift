public import PCastCore

/// Datagrams that are numerous but not urgent. A loop reads many of them at a time.
///
/// If they are few, they are read as they arrive. If they are many, each one would wake the thread for one or two
/// datagrams, which costs more than processing them. They have their own socket at the same address. Therefore urgent
/// datagrams neither wait for them nor are dropped with them.
public struct DeferredReceive: Hashable, Sendable {
    /// The patterns of these datagrams.
    public let patterns: [DatagramPattern]
    /// The minimum interval between two reads.
    public let interval: TimeSpan
    /// The maximum delay if the thread is not late. They are read earlier if the thread is awake for another reason.
    public let timeout: TimeSpan

    /// Creates a configuration. Traps if there is no pattern, or unless `timeout >= interval > 0`.
    public init(
        _ patterns: [DatagramPattern], interval: TimeSpan = .milliseconds(10), timeout: TimeSpan = .milliseconds(40)
    ) {
        precondition(!patterns.isEmpty && interval > .zero && timeout >= interval)
        self.patterns = patterns
        self.interval = interval
        self.timeout = timeout
    }
}
