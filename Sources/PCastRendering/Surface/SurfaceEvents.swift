public import PCastMedia
import Synchronization

/// A surface's side of its events: any number of readers, each of which is told whether the surface is there when it
/// begins to read.
public final class SurfaceEvents: Sendable {
    private struct State {
        var readers: [Int: AsyncStream<SurfaceEvent>.Continuation] = [:]
        var lastID = 0
        var dimensions: Dimensions?
        var isFinished = false
    }

    private static let bufferLimit = 64

    private let state = Mutex(State())

    public init() {}

    /// The size while the surface is there, else nil.
    public var dimensions: Dimensions? { state.withLock { $0.dimensions } }

    /// Events from now on.
    public func read() -> AsyncStream<SurfaceEvent> {
        AsyncStream(bufferingPolicy: .bufferingNewest(Self.bufferLimit)) { continuation in
            let id: Int? = state.withLock { state in
                guard !state.isFinished else { return nil }
                if let dimensions = state.dimensions { continuation.yield(.ready(dimensions)) }
                state.lastID += 1
                state.readers[state.lastID] = continuation
                return state.lastID
            }
            guard let id else { return continuation.finish() }
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.readers.removeValue(forKey: id) }
            }
        }
    }

    /// Tells all readers, and remembers whether the surface is there. A size that is known already is not told.
    public func tell(_ event: SurfaceEvent) {
        state.withLock { state in
            switch event {
            case .ready(let dimensions): state.dimensions = dimensions
            case .resized(let dimensions):
                guard state.dimensions != nil, state.dimensions != dimensions else { return }
                state.dimensions = dimensions
            case .closed, .lost: state.dimensions = nil
            case .key: break
            }
            for reader in state.readers.values { reader.yield(event) }
        }
    }

    /// Ends every stream.
    public func finish() {
        let readers = state.withLock { state in
            state.isFinished = true
            state.dimensions = nil
            defer { state.readers = [:] }
            return Array(state.readers.values)
        }
        for reader in readers { reader.finish() }
    }
}
