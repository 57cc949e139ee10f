import PCastCodecs
import PCastCore
import PCastRendering
import Synchronization

/// A surface that draws the controls of a player on its frames while they are visible.
final class ControlledSurface: RenderSurface {
    private struct State {
        var last: VideoFrame?
        var bar = ControlsBar.Content()
        var isVisible = false
        nonisolated(unsafe) let painter = ControlsBar()
    }

    private let base: any RenderSurface
    /// The state, which is locked while a frame is displayed, because the surface accepts one at a time.
    private let state = Mutex(State())

    /// Creates a surface that displays on another one.
    init(_ base: any RenderSurface) { self.base = base }

    /// Displays a frame, with the controls while they are visible.
    func show(_ frame: VideoFrame) {
        state.withLock { state in
            state.last = frame
            draw(&state)
        }
    }

    var arrangement: FrameArrangement {
        get { base.arrangement }
        set { base.arrangement = newValue }
    }

    var statistics: SurfaceStatistics { base.statistics }

    var events: AsyncStream<SurfaceEvent> { base.events }

    // MARK: Controls

    /// Shows or hides the controls, from the next frame or ``redraw()`` on.
    func setVisible(_ isVisible: Bool) { state.withLock { $0.isVisible = isVisible } }

    /// Sets the progress, 0 to 1; nil if the duration is unknown.
    func setProgress(_ progress: Double?) { state.withLock { $0.bar.progress = progress } }

    /// Sets whether the player plays, and redraws visible controls.
    func setPlaying(_ isPlaying: Bool) {
        state.withLock { state in
            guard state.bar.isPlaying != isPlaying else { return }
            state.bar.isPlaying = isPlaying
            if state.isVisible { draw(&state) }
        }
    }

    /// Displays the last frame again.
    func redraw() { state.withLock { draw(&$0) } }

    /// Displays the last frame, with the controls while they are visible.
    private func draw(_ state: inout State) {
        guard let frame = state.last else { return }
        base.show(state.isVisible ? state.painter.draw(state.bar, on: frame) : frame)
    }
}

/// Draws a bar of controls at the lower edge of a frame. It has a darkened area, the symbol of a play button, and a
/// line for the position. It is not thread-safe.
final class ControlsBar {
    /// The values that the bar shows.
    struct Content: Equatable {
        /// The progress, 0 to 1; nil if the duration is unknown, which draws a full line.
        var progress: Double?
        var isPlaying = false
    }

    /// Luma values of limited range.
    private static let (white, grey): (UInt8, UInt8) = (235, 110)

    private let pool = VideoFramePool(capacity: 4)

    /// Returns a copy of the frame with the bar on it, or the frame itself if it is too small for a bar.
    func draw(_ content: Content, on frame: VideoFrame) -> VideoFrame {
        let (width, height) = (frame.dimensions.width, frame.dimensions.height)
        let bar = Self.height(of: frame.dimensions)
        guard width >= 4 * bar, height >= 2 * bar else { return frame }
        let copy = pool.frame(
            dimensions: frame.dimensions, captureTime: frame.captureTime, timestamp: frame.timestamp, color: frame.color
        )
        let count = VideoFrame.layout(frame.dimensions).byteCount
        copy.memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(frame.memory)[..<count]))
        darken(copy, below: height - bar)

        let middle = height - bar / 2
        let size = bar / 2
        let left = bar / 2
        if content.isPlaying {
            // Two bars are the symbol of pause.
            let third = max(size / 3, 1)
            for x in [left, left + 2 * third] {
                fill(copy, x..<x + third, middle - size / 2..<middle + size / 2, Self.white)
            }
        } else {
            // A triangle is the symbol of play.
            for x in 0..<size {
                let half = (size - x) / 2
                fill(copy, left + x..<left + x + 1, middle - half..<middle + max(half, 1), Self.white)
            }
        }
        let line = bar * 3 / 2..<width - bar / 2
        let rows = middle - max(bar / 12, 1)..<middle + max(bar / 12, 1)
        fill(copy, line, rows, Self.grey)
        let done = Int(Double(line.count) * min(max(content.progress ?? 1, 0), 1))
        fill(copy, line.lowerBound..<line.lowerBound + done, rows, Self.white)
        return copy
    }

    /// Returns the height of the bar in rows, which is even.
    static func height(of dimensions: Dimensions) -> Int { max(dimensions.height / 12, 8) & ~1 }

    /// Darkens all rows from `top` on.
    private func darken(_ frame: VideoFrame, below top: Int) {
        for y in top..<frame.dimensions.height {
            let row = frame.planeY + y * frame.strideY
            for x in 0..<frame.dimensions.width { row[x] = UInt8(16 + max(Int(row[x]) - 16, 0) / 3) }
        }
        for plane in [frame.planeU, frame.planeV] {
            for y in top / 2..<(frame.dimensions.height + 1) / 2 {
                let row = plane + y * frame.strideUV
                for x in 0..<(frame.dimensions.width + 1) / 2 { row[x] = UInt8(128 + (Int(row[x]) - 128) / 3) }
            }
        }
    }

    /// Fills a rectangle with a luma value.
    private func fill(_ frame: VideoFrame, _ columns: Range<Int>, _ rows: Range<Int>, _ luma: UInt8) {
        for y in rows.clamped(to: 0..<frame.dimensions.height) {
            let row = frame.planeY + y * frame.strideY
            for x in columns.clamped(to: 0..<frame.dimensions.width) { row[x] = luma }
        }
    }
}
