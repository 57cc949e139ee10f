public import PCastCore
import PCastIO
import Synchronization

/// Sends the events of a surface to any number of readers. A new reader receives `ready` first if the surface is ready.
package final class SurfaceEvents: Sendable {
    private struct State {
        var readers = StreamReaders<SurfaceEvent>(.newest(SurfaceEvents.bufferLimit))
        var dimensions: Dimensions?
        var isFinished = false
    }

    private static let bufferLimit = 64

    private let state = Mutex(State())

    /// Creates events of a surface that is not ready.
    package init() {}

    /// The size of the surface; nil while it is not ready.
    package var dimensions: Dimensions? { state.withLock { $0.dimensions } }

    /// Returns a stream of the events from now on.
    package func read() -> AsyncStream<SurfaceEvent> {
        state.withLock { state in
            let stream = state.readers.add(beginningWith: state.dimensions.map { .ready($0) })
            if state.isFinished { state.readers.finish() }
            return stream
        }
    }

    /// Sends an event to all readers, and records the size. A size that has not changed is not sent.
    package func notify(_ event: SurfaceEvent) {
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

    /// Ends all streams.
    package func finish() {
        state.withLock { state in
            state.isFinished = true
            state.dimensions = nil
            state.readers.finish()
        }
    }
}

/// An event of a surface.
public enum SurfaceEvent: Sendable, Equatable {
    /// It is ready for frames, for the first time or after it was lost.
    case ready(Dimensions)

    /// Its size in pixels changed.
    case resized(Dimensions)

    /// A key was pressed.
    case key(SurfaceKey)

    /// Somebody clicked on it, with the left button of the mouse.
    case clicked

    /// The user closed it. It is lost.
    case closed

    /// It was lost for this reason. Frames are dropped until it is ready again.
    case lost(reason: String)
}

/// A key.
public enum SurfaceKey: Hashable, Sendable {
    /// The lower-case character that the key produces: `"q"`, `" "`.
    case character(Character)
    case escape
    case enter
    case left
    case right
    case up
    case down
}
