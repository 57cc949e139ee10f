import PCastCore
import PCastIO
import PCastRendering
import Synchronization

/// An invisible render surface that records when each frame of a ``StampedVideo`` was shown.
final class RecordingSurface: RenderSurface {
    struct ShownFrame: Sendable {
        var counter: Int
        var moment: Instant
    }

    private struct State {
        var shownFrames: [ShownFrame] = []
        var waiting: [(wants: @Sendable (ShownFrame) -> Bool, notify: AsyncStream<ShownFrame>.Continuation)] = []
        var statistics = SurfaceStatistics()
    }

    private let state = Mutex(State())
    private let surfaceEvents = SurfaceEvents()
    private let arranged = Mutex(FrameArrangement())

    init() { surfaceEvents.notify(.ready(StampedVideo.dimensions)) }

    func show(_ frame: VideoFrame) {
        let moment = MonotonicClock.now()
        guard let stamp = TestPatternStrip.read(frame) else { return }
        let shownFrame = ShownFrame(counter: Int(stamp.counter), moment: moment)
        state.withLock { state in
            state.shownFrames.append(shownFrame)
            state.statistics.framesShown += 1
            state.waiting.removeAll { waiting in
                guard waiting.wants(shownFrame) else { return false }
                waiting.notify.yield(shownFrame)
                waiting.notify.finish()
                return true
            }
        }
    }

    var arrangement: FrameArrangement {
        get { arranged.withLock { $0 } }
        set { arranged.withLock { $0 = newValue } }
    }

    var statistics: SurfaceStatistics { state.withLock { $0.statistics } }

    var events: AsyncStream<SurfaceEvent> { surfaceEvents.read() }

    /// All frames shown so far, in order; the length of the film limits their number.
    var shownFrames: [ShownFrame] { state.withLock { $0.shownFrames } }

    /// Returns a stream of the next frame that satisfies the condition. It must be called before the operation that
    /// causes the frame.
    func expect(_ isExpected: @escaping @Sendable (ShownFrame) -> Bool) -> AsyncStream<ShownFrame> {
        let (stream, notify) = AsyncStream.makeStream(of: ShownFrame.self)
        state.withLock { $0.waiting.append((isExpected, notify)) }
        return stream
    }
}
