import Synchronization

/// Something that may be set anew while the platform runs; who reads it has what it is at that moment.
final class Setting<Value: Sendable>: Sendable {
    private let current: Mutex<Value>

    init(_ value: Value) { current = Mutex(value) }

    var value: Value {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
