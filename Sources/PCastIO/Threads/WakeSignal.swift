package import PCastCore

/// A signal for a waiting thread. A signal before the wait is kept, and several ones count as one.
package final class WakeSignal: Sendable {
    private let isRaised = Monitor(false)

    /// Creates a signal that is not raised.
    package init() {}

    /// Raises the signal and wakes a waiting thread.
    package func raise() {
        isRaised.withLock { isRaised, condition in
            isRaised = true
            condition.wakeOne()
        }
    }

    /// Blocks until the signal is raised, and resets it. Returns false if `deadline` is reached.
    @discardableResult
    package func wait(until deadline: Instant?) -> Bool {
        isRaised.wait(until: deadline) { isRaised in
            defer { isRaised = false }
            return isRaised ? true : nil
        } ?? false
    }
}
