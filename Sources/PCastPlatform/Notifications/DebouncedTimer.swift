import PCastCore
import Synchronization

/// A timer that yields to a stream after a delay. Setting it again replaces the previous delay.
final class DebouncedTimer: Sendable {
    private let bell: AsyncStream<Void>.Continuation
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ bell: AsyncStream<Void>.Continuation) { self.bell = bell }

    func set(to wait: TimeSpan) {
        let next = Task { [bell] in
            guard (try? await Task.sleep(for: wait.duration)) != nil else { return }
            bell.yield()
        }
        task.withLock { task in
            task?.cancel()
            task = next
        }
    }

    func cancel() { task.withLock { $0?.cancel() } }
}
