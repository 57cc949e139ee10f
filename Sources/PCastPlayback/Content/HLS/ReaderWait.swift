internal import PCastIO
internal import Synchronization

/// The wait of a content's reader for data or an interruption.
final class ReaderWait: Sendable {
    private let signal = WakeSignal()
    private let interrupted = Atomic(false)

    /// Signals a change.
    func raise() { signal.raise() }

    /// Interrupts the current wait or the next one.
    func interrupt() {
        interrupted.store(true, ordering: .releasing)
        signal.raise()
    }

    /// Whether there is an interruption.
    var isInterrupted: Bool { interrupted.load(ordering: .acquiring) }

    /// Returns whether there was an interruption, and clears it.
    func takeInterruption() -> Bool { interrupted.exchange(false, ordering: .acquiringAndReleasing) }

    /// Waits until `condition` returns a value, and returns it; nil after an interruption. Only one thread at a time
    /// may wait.
    func wait<Value>(for condition: () -> Value?) -> Value? {
        while !isInterrupted {
            if let value = condition() { return value }
            signal.wait(until: nil)
        }
        return nil
    }
}
