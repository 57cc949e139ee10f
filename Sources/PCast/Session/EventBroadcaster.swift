public import PCastCore
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

/// An event of a client's session (Phenix: the callbacks of `start`).
public enum PCastEvent: Hashable, Sendable {
    /// The authentication succeeded (`ok`, with the session) or failed. `unauthorized` requires another `start` with a
    /// new token.
    case authenticated(RequestStatus, SessionID?)
    /// The client is connected to the platform.
    case online
    /// The connection was lost. Streams continue as far as possible, but new ones cannot be started. The client
    /// reconnects automatically. ``online`` follows, or ``authenticated(_:_:)`` if it fails.
    case offline
}
