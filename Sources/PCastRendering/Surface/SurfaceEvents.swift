import PCastIO
public import PCastMedia
import Synchronization

/// A surface's side of its events: any number of readers, each of which is told whether the surface is there when it
/// begins to read.
public final class SurfaceEvents: Sendable {
    private struct State {
        var readers = StreamReaders<SurfaceEvent>(.newest(SurfaceEvents.bufferLimit))
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
        state.withLock { state in
            let stream = state.readers.add(beginningWith: state.dimensions.map { .ready($0) })
            if state.isFinished { state.readers.finish() }
            return stream
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
            case .key, .clicked: break
            }
            state.readers.yield(event)
        }
    }

    /// Ends every stream.
    public func finish() {
        state.withLock { state in
            state.isFinished = true
            state.dimensions = nil
            state.readers.finish()
        }
    }
}
