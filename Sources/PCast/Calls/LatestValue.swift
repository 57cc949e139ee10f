import Synchronization

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

    /// Runs `action` with the present value and each later one, on the thread that sets the value. It replaces an
    /// earlier action.
    func follow(_ action: @escaping @Sendable (Value) -> Void) {
        let value = state.withLock { state in
            state.follower = action
            return state.value
        }
        if let value { action(value) }
    }
}
