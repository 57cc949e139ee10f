import Synchronization

/// The stream that is rendered, or was rendered last.
final class LastShown: Sendable {
    private let state: Mutex<ShownStream>

    init(_ first: ShownStream) { state = Mutex(first) }

    var value: ShownStream {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
