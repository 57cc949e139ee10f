import PCastPlayback

/// What ends a run of `pcast play`: the first that happens counts.
final class PlayEnd: Sendable {
    enum Cause: Sendable {
        /// Ctrl-C, q, a window that was closed, or the polite signal of another program.
        case interrupted
        /// The time asked for has passed.
        case elapsed
        /// The last item was played through its end.
        case completed
        case failed(PlaybackError)
    }

    private let (causes, continuation) = AsyncStream.makeStream(of: Cause.self, bufferingPolicy: .bufferingOldest(1))

    func end(_ cause: Cause) { continuation.yield(cause) }

    /// Returns when something has ended it. Called once.
    func wait() async -> Cause { await causes.first { _ in true } ?? .interrupted }
}
