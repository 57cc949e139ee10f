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
