import PCastCore
import Synchronization

/// The requests that wait until a stream is packaged.
final class PackagingWaiters: Sendable {
    private struct State {
        var waiting: [StreamID: [Int: CheckedContinuation<Void, Never>]] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    /// The number of requests that wait.
    var count: Int { state.withLock { $0.waiting.values.reduce(0) { $0 + $1.count } } }

    /// Waits until ``resume(_:)`` is called for a stream, the task is cancelled, or a time has passed.
    ///
    /// - Parameters:
    ///   - id: The stream.
    ///   - limit: The maximum time.
    ///   - isOver: Returns whether there is nothing to wait for. It is called after the request was added, so that no
    ///     change is missed.
    func wait(for id: StreamID, within limit: Duration, unless isOver: () -> Bool) async {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { $0.waiting[id, default: [:]][number] = continuation }
                if isOver() || Task.isCancelled { return resume(id, number) }
                Task { [weak self] in
                    try? await Task.sleep(for: limit)
                    self?.resume(id, number)
                }
            }
        } onCancel: {
            resume(id, number)
        }
    }

    /// Resumes the requests that wait for a stream, because it is packaged, or will not be.
    func resume(_ id: StreamID) {
        let waiting = state.withLock { $0.waiting.removeValue(forKey: id) } ?? [:]
        for continuation in waiting.values { continuation.resume() }
    }

    private func resume(_ id: StreamID, _ number: Int) {
        let continuation = state.withLock { state in
            let continuation = state.waiting[id]?.removeValue(forKey: number)
            if state.waiting[id]?.isEmpty == true { state.waiting[id] = nil }
            return continuation
        }
        continuation?.resume()
    }
}
