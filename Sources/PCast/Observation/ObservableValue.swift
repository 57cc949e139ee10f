import PCastIO
import Synchronization

/// A value that is there from the beginning and changes (Phenix: `PhenixObservable`). Whoever subscribes is told the value
/// as it is, and then each change; setting it to what it is already is no change.
public final class ObservableValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var subscribers = StreamReaders<Value>(.newest(ObservableValue.backlog))
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
        state.withLock { $0.subscribers.finish() }
    }

    /// As it is now.
    public var value: Value { state.withLock { $0.value } }

    /// The value as it is, and then each change, for as long as it is iterated. Each access makes a stream of its own.
    public var values: AsyncStream<Value> {
        // Under the lock, so that no change comes before the first.
        state.withLock { $0.subscribers.add(beginningWith: $0.value) }
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
            // Under the lock, so that all are told in the same order.
            state.subscribers.yield(value)
        }
    }
}
