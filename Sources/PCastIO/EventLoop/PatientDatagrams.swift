public import PCastMedia

/// Datagrams of which thousands come and none is urgent: a loop reads them many at a time.
///
/// Where few come they are read as they do. Of many, each would wake the thread, which would find one or two: what that
/// takes is more than what they ask for. They have a socket of their own, behind the same address, so that what is urgent
/// neither waits behind them nor is lost with them when they are too many.
public struct PatientDatagrams: Hashable, Sendable {
    /// What they begin with.
    public let patterns: [DatagramPattern]
    /// They are not read more often than this.
    public let interval: TimeSpan
    /// How long they wait at most where the thread is not late itself. A thread that is awake for something else sooner
    /// reads them then.
    public let patience: TimeSpan

    public init(
        _ patterns: [DatagramPattern], interval: TimeSpan = .milliseconds(10), patience: TimeSpan = .milliseconds(40)
    ) {
        precondition(!patterns.isEmpty && interval > .zero && patience >= interval)
        self.patterns = patterns
        self.interval = interval
        self.patience = patience
    }
}
