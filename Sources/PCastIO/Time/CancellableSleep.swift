public import PCastMedia

/// A sleep that another thread can end for good, so that a paced source stops at once.
public final class CancellableSleep: Sendable {
    private let cancelled = Monitor(false)

    public init() {}

    /// Blocks until `instant`. Answers false when `cancel` was called, before or meanwhile.
    public func sleep(until instant: Instant) -> Bool {
        cancelled.wait(until: instant) { isCancelled in isCancelled ? true : nil } == nil
    }

    /// Ends the sleep that is under way, and every later one.
    public func cancel() {
        cancelled.withLock { isCancelled, condition in
            isCancelled = true
            condition.wakeAll()
        }
    }
}
