import Synchronization

/// One sender, any number of listeners, each of which gets everything that is sent while it listens.
final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<Element>.Continuation] = [:]
        var lastID = 0
        var isFinished = false
    }

    /// Elements that wait for a slow listener at most; it misses the oldest beyond that.
    static var bufferLimit: Int { 64 }

    private let state = Mutex(State())

    /// Begins to listen now. The stream ends with the sender, or when its reader lets go of it.
    func listen() -> AsyncStream<Element> {
        AsyncStream(bufferingPolicy: .bufferingNewest(Self.bufferLimit)) { continuation in
            let id: Int? = state.withLock { state in
                if state.isFinished { return nil }
                state.lastID += 1
                state.listeners[state.lastID] = continuation
                return state.lastID
            }
            guard let id else { return continuation.finish() }
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
            }
        }
    }

    func send(_ element: Element) {
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.yield(element) }
    }

    /// Ends every stream; later sends go nowhere.
    func finish() {
        let listeners = state.withLock { state in
            state.isFinished = true
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.finish() }
    }
}
