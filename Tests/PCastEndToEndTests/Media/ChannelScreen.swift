import PCastCore
import PCastRendering

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
