import Foundation
import PCastCore
import PCastPlayback
import PCastRendering
import Synchronization

/// Reads the strip of each frame, and records the player's state at that moment.
final class StampScreen: RenderSurface {
    struct Sight: Sendable {
        var stamp: TestPatternStamp
        var timecode: WallTime?
        var position: TimeSpan?
        var shown: WallTime
    }

    /// The frames that have a time strip.
    let sights = Awaited<Sight>()
    private let isDarkNow = Mutex(false)
    private let player = Mutex<@Sendable () -> Player?>({ nil })
    private let gate = Mutex<(@Sendable () -> Void)?>(nil)

    /// Whether the last frame had no strip.
    var isDark: Bool { isDarkNow.withLock { $0 } }

    func watch(_ watched: Player) {
        weak let player = watched
        self.player.withLock { $0 = { player } }
    }

    /// Calls a function before each frame. The frame before it remains on the screen until the function returns.
    func beforeEachFrame(_ body: @escaping @Sendable () -> Void) { gate.withLock { $0 = body } }

    func show(_ frame: VideoFrame) {
        gate.withLock { $0 }?()
        let stamp = TestPatternStrip.read(frame)
        isDarkNow.withLock { $0 = stamp == nil }
        guard let stamp else { return }
        let playhead = player.withLock { $0 }()?.playhead
        let now = WallTime(millisecondsSinceEpoch: Int64(Date().timeIntervalSince1970 * 1_000))
        sights.add(Sight(stamp: stamp, timecode: playhead?.timecode, position: playhead?.position, shown: now))
    }

    var arrangement: FrameArrangement {
        get { FrameArrangement() }
        set {}
    }

    var statistics: SurfaceStatistics { SurfaceStatistics() }

    var events: AsyncStream<SurfaceEvent> { AsyncStream { _ in } }
}
