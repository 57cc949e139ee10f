import Synchronization

/// A value that is there from the beginning and changes (Phenix: `PhenixObservable`). Whoever subscribes is told the value
/// as it is, and then each change; setting it to what it is already is no change.
public final class ObservableValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var subscribers: [Int: AsyncStream<Value>.Continuation] = [:]
        var lastID = 0
    }

    /// Changes that wait for a slow subscriber at most; it misses the oldest beyond that.
    private static var backlog: Int { 64 }

    private let isSame: @Sendable (Value, Value) -> Bool
    private let state: Mutex<State>

    init(_ value: Value, isSame: @escaping @Sendable (Value, Value) -> Bool) {
        self.isSame = isSame
        state = Mutex(State(value: value))
    }

    convenience init(_ value: Value) where Value: Equatable { self.init(value, isSame: { $0 == $1 }) }

    deinit {
        for subscriber in state.withLock({ Array($0.subscribers.values) }) { subscriber.finish() }
    }

    /// As it is now.
    public var value: Value { state.withLock { $0.value } }

    /// The value as it is, and then each change, for as long as it is iterated. Each access makes a stream of its own.
    public var values: AsyncStream<Value> {
        AsyncStream(bufferingPolicy: .bufferingNewest(Self.backlog)) { continuation in
            let id = state.withLock { state in
                state.lastID += 1
                state.subscribers[state.lastID] = continuation
                // Under the lock, so that no change comes before it.
                continuation.yield(state.value)
                return state.lastID
            }
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.subscribers.removeValue(forKey: id) }
            }
        }
    }

    /// Calls back with the value as it is, and then with each change, one after another and never on the caller's
    /// thread, for as long as the answer is held.
    public func subscribe(_ changed: @escaping @Sendable (Value) -> Void) -> Disposable {
        let values = values
        let task = Task {
            for await value in values {
                if Task.isCancelled { return }
                changed(value)
            }
        }
        return Disposable { task.cancel() }
    }

    func set(_ value: Value) {
        state.withLock { state in
            guard !isSame(state.value, value) else { return }
            state.value = value
            // Under the lock, so that all are told in the same order; yielding calls nobody.
            for subscriber in state.subscribers.values { subscriber.yield(value) }
        }
    }
}
