import PCastPlayback

/// The end of a `pcast play` run. Only the first cause is used.
final class PlayEnd: Sendable {
    enum Cause: Sendable {
        /// Ctrl-C, the key q, a closed window, or SIGTERM.
        case interrupted
        /// The requested duration has passed.
        case elapsed
        /// The last item was played to its end.
        case completed
        case failed(PlaybackError)
    }

    private let (causes, continuation) = AsyncStream.makeStream(of: Cause.self, bufferingPolicy: .bufferingOldest(1))

    func end(_ cause: Cause) { continuation.yield(cause) }

    /// Waits for the end and returns its cause. It must be called once.
    func wait() async -> Cause { await causes.first { _ in true } ?? .interrupted }
}
