import Synchronization

/// The stream that is rendered, or was rendered last.
final class LastRenderedStream: Sendable {
    private let state: Mutex<RenderedStream>

    init(_ first: RenderedStream) { state = Mutex(first) }

    var value: RenderedStream {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
