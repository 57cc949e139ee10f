import PCastCore
import PCastIO
import PCastRendering
import Synchronization

@testable import PCastPlayback

/// A screen that reads the number of each frame, and records the position that playback reported then.
final class ScenarioScreen: RenderSurface {
    struct Sight: Sendable {
        /// The number of the frame; -1 if it cannot be read.
        var stamp: Int
        var instant: Instant
        /// The player's playhead when the frame arrived.
        var playhead: Playhead?
    }

    private struct State {
        var sights: [Sight] = []
        weak var player: Player?
    }

    private let state = Mutex(State())
    private let changed: @Sendable () -> Void

    init(changed: @escaping @Sendable () -> Void) { self.changed = changed }

    func watch(_ player: Player) { state.withLock { $0.player = player } }

    /// All shown frames in order.
    var sights: [Sight] { state.withLock { $0.sights } }

    func show(_ frame: VideoFrame) {
        let stamp = TestPatternStrip.read(frame).map { Int($0.counter) } ?? -1
        let playhead = state.withLock { $0.player }?.playhead
        state.withLock { $0.sights.append(Sight(stamp: stamp, instant: MonotonicClock.now(), playhead: playhead)) }
        changed()
    }

    /// The arrangement, which has no effect because nobody sees the surface.
    var arrangement: FrameArrangement {
        get { FrameArrangement() }
        set {}
    }

    var statistics: SurfaceStatistics { SurfaceStatistics() }

    var events: AsyncStream<SurfaceEvent> { AsyncStream { _ in } }
}
