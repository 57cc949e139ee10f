import PCastCore
import PCastIO
import PCastRendering
import Synchronization

/// An invisible render surface that records when each frame of a ``StampedFilm`` was shown.
final class FrameWitness: RenderSurface {
    struct Sight: Sendable {
        var counter: Int
        var moment: Instant
    }

    private struct State {
        var sights: [Sight] = []
        var waiting: [(wants: @Sendable (Sight) -> Bool, tell: AsyncStream<Sight>.Continuation)] = []
        var statistics = SurfaceStatistics()
    }

    private let state = Mutex(State())
    private let told = SurfaceEvents()
    private let arranged = Mutex(FrameArrangement())

    init() { told.tell(.ready(StampedFilm.dimensions)) }

    func show(_ frame: VideoFrame) {
        let moment = MonotonicClock.now()
        guard let stamp = TestPatternStrip.read(frame) else { return }
        let sight = Sight(counter: Int(stamp.counter), moment: moment)
        state.withLock { state in
            state.sights.append(sight)
            state.statistics.picturesShown += 1
            state.waiting.removeAll { waiting in
                guard waiting.wants(sight) else { return false }
                waiting.tell.yield(sight)
                waiting.tell.finish()
                return true
            }
        }
    }

    var arrangement: FrameArrangement {
        get { arranged.withLock { $0 } }
        set { arranged.withLock { $0 = newValue } }
    }

    var statistics: SurfaceStatistics { state.withLock { $0.statistics } }

    var events: AsyncStream<SurfaceEvent> { told.read() }

    /// All frames shown so far, in order; the length of the film limits their number.
    var sights: [Sight] { state.withLock { $0.sights } }

    /// Returns a stream of the next frame that satisfies the condition. It must be called before the operation that
    /// causes the frame.
    func expect(_ wants: @escaping @Sendable (Sight) -> Bool) -> AsyncStream<Sight> {
        let (stream, tell) = AsyncStream.makeStream(of: Sight.self)
        state.withLock { $0.waiting.append((wants, tell)) }
        return stream
    }
}
