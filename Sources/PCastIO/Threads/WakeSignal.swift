public import PCastMedia

/// What one thread waits for and others raise: a raise that comes before the wait is kept, several are one.
public final class WakeSignal: Sendable {
    private let isRaised = Monitor(false)

    public init() {}

    public func raise() {
        isRaised.withLock { isRaised, condition in
            isRaised = true
            condition.wakeOne()
        }
    }

    /// Blocks until it is raised, and takes that back. Answers false when `deadline` came first.
    @discardableResult
    public func wait(until deadline: Instant?) -> Bool {
        isRaised.wait(until: deadline) { isRaised in
            defer { isRaised = false }
            return isRaised ? true : nil
        } ?? false
    }
}
