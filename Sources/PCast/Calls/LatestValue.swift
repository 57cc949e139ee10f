import Synchronization

/// A value that is set again and again, and one who follows it; what was set before he came is told him then.
final class LatestValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var follower: (@Sendable (Value) -> Void)?
    }

    private let state = Mutex(State())

    func set(_ value: Value) {
        let follower = state.withLock { state in
            state.value = value
            return state.follower
        }
        follower?(value)
    }

    /// Runs `action` with each value from now on, on the thread of whoever sets it.
    func follow(_ action: @escaping @Sendable (Value) -> Void) {
        let value = state.withLock { state in
            state.follower = action
            return state.value
        }
        if let value { action(value) }
    }
}
