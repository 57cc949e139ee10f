import Dispatch
import Synchronization

/// Things that arrive one after another, from any thread, and can be waited for; those that came early are kept.
final class Awaited<Value: Sendable>: Sendable {
    private struct Waiter {
        let matches: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Value?, Never>
    }

    private struct State {
        var values: [Value] = []
        var isOver = false
        var waiters: [Int: Waiter] = [:]
        var count = 0
    }

    private let state = Mutex(State())

    /// All that came so far.
    var values: [Value] { state.withLock { $0.values } }

    func add(_ value: Value) {
        let waiters = state.withLock { state in
            state.values.append(value)
            return state.waiters
        }
        // What is waited for may ask for what came so far: it is asked without the lock.
        for (key, waiter) in waiters where waiter.matches(value) { resume(key, value) }
    }

    private func resume(_ key: Int, _ value: Value?) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: key) }
        waiter?.continuation.resume(returning: value)
    }

    /// Nothing more will come.
    func finish() {
        let woken = state.withLock { state in
            state.isOver = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in woken { waiter.continuation.resume(returning: nil) }
    }

    /// The first that matches, whether it is here or still to come; nil when there will be none, or none came in time.
    func first(
        within limit: Duration, where matches: @escaping @Sendable (Value) -> Bool = { _ in true }
    ) async -> Value? {
        await withCheckedContinuation { continuation in
            let (key, values, isOver) = state.withLock { state in
                state.count += 1
                state.waiters[state.count] = Waiter(matches: matches, continuation: continuation)
                return (state.count, state.values, state.isOver)
            }
            if let value = values.first(where: matches) { return resume(key, value) }
            if isOver { return resume(key, nil) }
            DispatchQueue.global().asyncAfter(deadline: .now() + limit.seconds) { [self] in resume(key, nil) }
        }
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
