import PCastCore
import Synchronization

/// A timer that yields to a stream after a delay. Setting it again replaces the previous delay.
final class DebouncedTimer: Sendable {
    private let expiry: AsyncStream<Void>.Continuation
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ expiry: AsyncStream<Void>.Continuation) { self.expiry = expiry }

    func set(to wait: TimeSpan) {
        let next = Task { [expiry] in
            guard (try? await Task.sleep(for: wait.duration)) != nil else { return }
            expiry.yield()
        }
        task.withLock { task in
            task?.cancel()
            task = next
        }
    }

    func cancel() { task.withLock { $0?.cancel() } }
}
