import Dispatch
import Synchronization

/// Values that arrive one after another from any thread, and for which tests can wait. Early values are kept.
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

    /// All values so far.
    var values: [Value] { state.withLock { $0.values } }

    func add(_ value: Value) {
        let waiters = state.withLock { state in
            state.values.append(value)
            return state.waiters
        }
        // A matching function may read earlier values, so it is called without the lock.
        for (key, waiter) in waiters where waiter.matches(value) { resume(key, value) }
    }

    private func resume(_ key: Int, _ value: Value?) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: key) }
        waiter?.continuation.resume(returning: value)
    }

    /// Marks the end, after which no value arrives.
    func finish() {
        let woken = state.withLock { state in
            state.isOver = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in woken { waiter.continuation.resume(returning: nil) }
    }

    /// Returns the first matching value, present or future; nil if there will be none, or none arrives in time. The
    /// first `earlier` values are skipped.
    func first(
        after earlier: Int = 0, within limit: Duration = .timeout,
        where matches: @escaping @Sendable (Value) -> Bool = { _ in true }
    ) async -> Value? {
        await withCheckedContinuation { continuation in
            var looked = earlier
            while true {
                let (news, isOver, key) = state.withLock { state -> ([Value], Bool, Int?) in
                    let news = Array(state.values[looked...])
                    // Before a waiter is added, all earlier values must have been examined.
                    guard news.isEmpty, !state.isOver else { return (news, state.isOver && news.isEmpty, nil) }
                    state.count += 1
                    state.waiters[state.count] = Waiter(matches: matches, continuation: continuation)
                    return (news, false, state.count)
                }
                if let value = news.first(where: matches) { return continuation.resume(returning: value) }
                if isOver { return continuation.resume(returning: nil) }
                looked += news.count
                guard let key else { continue }
                DispatchQueue.global().asyncAfter(deadline: .now() + limit.seconds) { [self] in resume(key, nil) }
                return
            }
        }
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
