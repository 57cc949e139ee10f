import PCastIO
import Synchronization

/// Sends elements to any number of listeners. Each listener receives the elements that are sent while it listens.
final class EventBroadcaster<Element: Sendable>: Sendable {
    private struct State {
        var listeners = StreamReaders<Element>(.newest(EventBroadcaster.bufferLimit))
        var isFinished = false
    }

    /// The number of elements that are queued for a slow listener. Beyond that, the oldest are dropped.
    static var bufferLimit: Int { 64 }

    private let state = Mutex(State())

    /// Returns a stream of the elements from now on. It ends with the sender, or when its reader releases it.
    func listen() -> AsyncStream<Element> {
        state.withLock { state in
            let stream = state.listeners.add()
            if state.isFinished { state.listeners.finish() }
            return stream
        }
    }

    /// Sends an element to all listeners.
    func send(_ element: Element) { state.withLock { $0.listeners.yield(element) } }

    /// Ends all streams. Elements that are sent later are dropped.
    func finish() {
        state.withLock { state in
            state.isFinished = true
            state.listeners.finish()
        }
    }
}
