internal import PCastIO
internal import Synchronization

/// A signal for tasks that wait for a change. The count ensures that a change between a check and the wait is not
/// missed.
final class ChangeSignal: Sendable {
    private struct State {
        var count = 0
        var next = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    /// The number of changes.
    var count: Int { state.withLock { $0.count } }

    /// Signals a change.
    func raise() {
        let waiting = state.withLock { state in
            state.count += 1
            defer { state.waiting.removeAll() }
            return state.waiting.values.map { $0 }
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits until the number of changes differs from `count`, or the task is cancelled.
    func wait(since count: Int) async {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.count != count || Task.isCancelled { return true }
                    state.waiting[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: id) }?.resume()
        }
    }
}

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
