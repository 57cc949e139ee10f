import PCastIO
import Synchronization

/// One sender, any number of listeners, each of which gets everything that is sent while it listens.
final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var listeners = StreamReaders<Element>(.newest(Broadcast.bufferLimit))
        var isFinished = false
    }

    /// Elements that wait for a slow listener at most; it misses the oldest beyond that.
    static var bufferLimit: Int { 64 }

    private let state = Mutex(State())

    /// Begins to listen now. The stream ends with the sender, or when its reader lets go of it.
    func listen() -> AsyncStream<Element> {
        state.withLock { state in
            let stream = state.listeners.add()
            if state.isFinished { state.listeners.finish() }
            return stream
        }
    }

    func send(_ element: Element) { state.withLock { $0.listeners.yield(element) } }

    /// Ends every stream; later sends go nowhere.
    func finish() {
        state.withLock { state in
            state.isFinished = true
            state.listeners.finish()
        }
    }
}
