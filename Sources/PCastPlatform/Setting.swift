import Synchronization

/// A setting that may change while the platform runs. Readers receive its current value.
final class Setting<Value: Sendable>: Sendable {
    private let current: Mutex<Value>

    init(_ value: Value) { current = Mutex(value) }

    var value: Value {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
