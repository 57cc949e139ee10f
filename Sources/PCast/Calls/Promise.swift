import Synchronization

/// A value that is set once, and the actions that wait for it.
final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var actions: [@Sendable (Value) -> Void] = []
    }

    private let state = Mutex(State())

    /// Sets the value, if it is not set yet. Waiting actions run on the caller's thread.
    func resolve(_ value: Value) {
        let actions: [@Sendable (Value) -> Void] = state.withLock { state in
            if state.value != nil { return [] }
            state.value = value
            defer { state.actions = [] }
            return state.actions
        }
        for action in actions { action(value) }
    }

    /// Runs `action` with the value, when it is set or at once.
    func whenSettled(_ action: @escaping @Sendable (Value) -> Void) {
        let value = state.withLock { state in
            if state.value == nil { state.actions.append(action) }
            return state.value
        }
        if let value { action(value) }
    }

    /// The value; waits until it is set.
    var settled: Value {
        get async {
            await withCheckedContinuation { continuation in
                whenSettled { continuation.resume(returning: $0) }
            }
        }
    }

    /// The value; nil before it is set.
    var value: Value? { state.withLock { $0.value } }
}

/// A value that changes, and one function that receives each new value. The function also receives the value that was
/// set last before it was added.
final class LatestValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var follower: (@Sendable (Value) -> Void)?
    }

    private let state = Mutex(State())

    /// Replaces the value and notifies the function.
    func set(_ value: Value) {
        let follower = state.withLock { state in
            state.value = value
            return state.follower
        }
        follower?(value)
    }

    /// Runs `action` with the current value and each later one, on the thread that sets the value. It replaces an
    /// earlier action.
    func follow(_ action: @escaping @Sendable (Value) -> Void) {
        let value = state.withLock { state in
            state.follower = action
            return state.value
        }
        if let value { action(value) }
    }
}
