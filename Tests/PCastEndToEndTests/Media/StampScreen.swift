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
        var position: Duration?
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

extension PlayerState {
    /// Whether it plays, or will play on when it has media: on a busy machine, it may wait for media at any moment.
    var continues: Bool { if case .playing = self { true } else { false } }
}

/// Reads the time strip of each frame. It also detects whether a magenta block is at the position of the page of the
/// tests.
final class ChannelScreen: RenderSurface {
    struct Sight: Sendable {
        var stamp: TestPatternStamp?
        var isCovered: Bool
    }

    let sights = Awaited<Sight>()

    /// A page that contains only the block, at 60 to 90 % of its width and height.
    static let page = """
        <!doctype html><title>Overlay</title>
        <div style="position:fixed; left:60%; top:60%; width:30%; height:30%; background:#f0f"></div>
        """

    func show(_ frame: VideoFrame) { sights.add(Self.look(at: frame)) }

    static func look(at frame: VideoFrame) -> Sight {
        Sight(stamp: TestPatternStrip.read(frame), isCovered: isCovered(frame))
    }

    /// Magenta has differences of 202 and 222 (BT.601), which no part of the test pattern has. Encoding blurs the
    /// edges.
    private static func isCovered(_ frame: VideoFrame) -> Bool {
        let (width, height) = (frame.dimensions.width / 2, frame.dimensions.height / 2)
        var (seen, all) = (0, 0)
        for row in height * 65 / 100..<height * 85 / 100 {
            for column in width * 65 / 100..<width * 85 / 100 {
                let at = row * frame.strideUV + column
                all += 1
                if frame.planeU[at] > 180, frame.planeV[at] > 195 { seen += 1 }
            }
        }
        return seen * 100 > all * 98
    }

    var arrangement: FrameArrangement {
        get { FrameArrangement() }
        set {}
    }

    var statistics: SurfaceStatistics { SurfaceStatistics() }

    var events: AsyncStream<SurfaceEvent> { AsyncStream { _ in } }
}
