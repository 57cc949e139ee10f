import Synchronization

/// What FFmpeg asks while it waits for a file or the network: whether it should give up.
final class ReadingDeadline: Sendable {
    private let cancelled = Atomic(false)
    private let interrupted = Atomic(false)
    private let hasTimedOut = Atomic(false)
    private let patience: Duration
    private let deadline: Mutex<ContinuousClock.Instant>

    init(patience: Duration) {
        self.patience = patience
        deadline = Mutex(.now + patience)
    }

    /// Begins the time of another wait.
    ///
    /// - Parameter patience: nil for the usual.
    func begin(for patience: Duration? = nil) {
        hasTimedOut.store(false, ordering: .relaxed)
        deadline.withLock { $0 = .now + (patience ?? self.patience) }
    }

    func cancel() { cancelled.store(true, ordering: .relaxed) }

    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    /// Ends one wait, this or the next, until somebody takes notice of it.
    func interrupt() { interrupted.store(true, ordering: .releasing) }

    /// Whether there was an interruption; there is none any more.
    func takeInterruption() -> Bool { interrupted.exchange(false, ordering: .acquiringAndReleasing) }

    /// Whether to give up now.
    var isOver: Bool {
        if isCancelled || interrupted.load(ordering: .relaxed) { return true }
        guard deadline.withLock({ $0 }) < .now else { return false }
        hasTimedOut.store(true, ordering: .relaxed)
        return true
    }

    /// Why FFmpeg gave up, if this was why.
    var reason: String? {
        if isCancelled { return "cancelled" }
        return hasTimedOut.load(ordering: .relaxed) ? "nothing came for \(patience)" : nil
    }
}
