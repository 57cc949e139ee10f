import Synchronization

/// The one that is shown, or was shown last.
final class LastShown: Sendable {
    private let state: Mutex<ShownStream>

    init(_ first: ShownStream) { state = Mutex(first) }

    var value: ShownStream {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
