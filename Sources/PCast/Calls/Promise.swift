import Synchronization

/// A value that is known once, and those who wait for it.
final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var actions: [@Sendable (Value) -> Void] = []
    }

    private let state = Mutex(State())

    /// The first value is the one that counts. Waiting actions run on the caller's thread.
    func resolve(_ value: Value) {
        let actions: [@Sendable (Value) -> Void] = state.withLock { state in
            if state.value != nil { return [] }
            state.value = value
            defer { state.actions = [] }
            return state.actions
        }
        for action in actions { action(value) }
    }

    /// Runs `action` when the value is known, or now.
    func whenSettled(_ action: @escaping @Sendable (Value) -> Void) {
        let value = state.withLock { state in
            if state.value == nil { state.actions.append(action) }
            return state.value
        }
        if let value { action(value) }
    }

    /// Returns when the value is known.
    var settled: Value {
        get async {
            await withCheckedContinuation { continuation in
                whenSettled { continuation.resume(returning: $0) }
            }
        }
    }

    var value: Value? { state.withLock { $0.value } }
}
