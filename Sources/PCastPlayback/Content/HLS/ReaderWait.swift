internal import PCastIO
internal import Synchronization

/// What the reader of a content waits for: that something came, or that somebody wants it elsewhere.
final class ReaderWait: Sendable {
    private let signal = WakeSignal()
    private let interrupted = Atomic(false)

    /// Something has changed.
    func raise() { signal.raise() }

    /// Ends this wait, or the next.
    func interrupt() {
        interrupted.store(true, ordering: .releasing)
        signal.raise()
    }

    var isInterrupted: Bool { interrupted.load(ordering: .acquiring) }

    /// Whether there was an interruption; there is none any more.
    func takeInterruption() -> Bool { interrupted.exchange(false, ordering: .acquiringAndReleasing) }

    /// Waits until `condition` answers something; nil when it is interrupted. By one thread at a time.
    func wait<Value>(for condition: () -> Value?) -> Value? {
        while !isInterrupted {
            if let value = condition() { return value }
            signal.wait(until: nil)
        }
        return nil
    }
}
