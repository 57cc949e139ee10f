public import PCastCore

// MARK: Logs
extension PCast {
    /// Returns the newest thousand lines of this client's log, the oldest first.
    ///
    /// Each line has its time in UTC. The lines contain no tokens and no keys. They are kept whether logging is
    /// configured or not, and are available in every state.
    public func collectLogMessages() -> String { log.lines.map { $0 + "\n" }.joined() }

    /// Returns the newest lines of this client's log to a callback, which is called once.
    public func collectLogMessages(
        _ callback: @escaping @Sendable (PCast, RequestStatus, _ messages: String) -> Void
    ) {
        Task { callback(self, .ok, collectLogMessages()) }
    }
}
