package import PCastCore

/// A sleep that another thread can cancel permanently, so that a paced source stops at once.
package final class CancellableSleep: Sendable {
    private let cancelled = Monitor(false)

    /// Creates a sleep that is not cancelled.
    package init() {}

    /// Blocks until `instant`. Returns false if `cancel` was called before or meanwhile.
    package func sleep(until instant: Instant) -> Bool {
        cancelled.wait(until: instant) { isCancelled in isCancelled ? true : nil } == nil
    }

    /// Ends the current sleep and all later ones.
    package func cancel() {
        cancelled.withLock { isCancelled, condition in
            isCancelled = true
            condition.wakeAll()
        }
    }
}
