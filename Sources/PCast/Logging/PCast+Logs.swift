public import PCastCore

/// What the SDK has done, for a report of a problem.
extension PCast {
    /// The newest thousand lines of this client's log, the oldest first, each with its time (UTC); without tokens and
    /// keys. They are kept whether or not logging is configured, and can be had in any state.
    public func collectLogMessages() -> String { log.lines.map { $0 + "\n" }.joined() }

    /// The same for seed 004: calls back once.
    public func collectLogMessages(
        _ callback: @escaping @Sendable (PCast, RequestStatus, _ messages: String) -> Void
    ) {
        Task { callback(self, .ok, collectLogMessages()) }
    }
}
