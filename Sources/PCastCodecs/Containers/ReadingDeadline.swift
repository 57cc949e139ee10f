import Synchronization

/// The timeout and cancellation of FFmpeg's blocking calls. FFmpeg polls it in its interrupt callback.
final class ReadingDeadline: Sendable {
    private let cancelled = Atomic(false)
    private let interrupted = Atomic(false)
    private let hasTimedOut = Atomic(false)
    private let timeout: Duration
    private let deadline: Mutex<ContinuousClock.Instant>

    init(timeout: Duration) {
        self.timeout = timeout
        deadline = Mutex(.now + timeout)
    }

    /// Starts the timeout of another call. It is the usual duration if `timeout` is nil.
    func begin(for timeout: Duration? = nil) {
        hasTimedOut.store(false, ordering: .relaxed)
        deadline.withLock { $0 = .now + (timeout ?? self.timeout) }
    }

    func cancel() { cancelled.store(true, ordering: .relaxed) }

    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    /// Interrupts one wait, the current or the next one, until `takeInterruption` is called.
    func interrupt() { interrupted.store(true, ordering: .releasing) }

    /// Returns whether there was an interruption, and clears it.
    func takeInterruption() -> Bool { interrupted.exchange(false, ordering: .acquiringAndReleasing) }

    /// Whether the blocking call must end now.
    var isOver: Bool {
        if isCancelled || interrupted.load(ordering: .relaxed) { return true }
        guard deadline.withLock({ $0 }) < .now else { return false }
        hasTimedOut.store(true, ordering: .relaxed)
        return true
    }

    /// The reason why FFmpeg's call was ended; nil if it was not.
    var reason: String? {
        if isCancelled { return "cancelled" }
        return hasTimedOut.load(ordering: .relaxed) ? "no data arrived for \(timeout)" : nil
    }
}
