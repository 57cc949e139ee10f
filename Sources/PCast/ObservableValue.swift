import PCastIO
import Synchronization

/// A value that changes (Phenix: `PhenixObservable`). A subscriber receives the current value and then each change.
/// Setting an equal value is no change.
public final class ObservableValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var subscribers = StreamReaders<Value>(.newest(ObservableValue.backlog))
    }

    /// The number of changes that are queued for a slow subscriber. Beyond that, the oldest are dropped.
    private static var backlog: Int { 64 }

    private let isSame: @Sendable (Value, Value) -> Bool
    private let state: Mutex<State>

    /// Creates a value. `isSame` returns whether two values are equal.
    init(_ value: Value, isSame: @escaping @Sendable (Value, Value) -> Bool) {
        self.isSame = isSame
        state = Mutex(State(value: value))
    }

    convenience init(_ value: Value) where Value: Equatable { self.init(value, isSame: { $0 == $1 }) }

    deinit {
        state.withLock { $0.subscribers.finish() }
    }

    /// The current value.
    public var value: Value { state.withLock { $0.value } }

    /// The current value and then each change, while it is iterated. Each access creates a new stream.
    public var values: AsyncStream<Value> {
        // The lock ensures that no change precedes the first value.
        state.withLock { $0.subscribers.add(beginningWith: $0.value) }
    }

    /// Sets the value and notifies the subscribers, if it differs from the present one.
    func set(_ value: Value) {
        state.withLock { state in
            guard !isSame(state.value, value) else { return }
            state.value = value
            // The lock ensures that all subscribers receive the changes in the same order.
            state.subscribers.yield(value)
        }
    }
}

/// A resource, e.g. a subscription to changes, that is released with this object (Phenix: `PhenixDisposable`).
public final class Disposable: Sendable {
    private let ending: Mutex<(@Sendable () -> Void)?>

    /// Creates an object that calls `ending` once, when it is disposed or released.
    package init(_ ending: @escaping @Sendable () -> Void) { self.ending = Mutex(ending) }

    deinit { dispose() }

    /// Releases the resource now. It has no effect when it is called again.
    public func dispose() {
        let ending = ending.withLock { ending in
            defer { ending = nil }
            return ending
        }
        ending?()
    }
}
