import Synchronization

/// The state of the connection to the platform, for the status block.
final class LinkState: Sendable {
    enum Value: String { case connecting, online, offline }

    private let value = Mutex(Value.connecting)

    var current: Value {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
