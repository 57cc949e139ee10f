import PCastCore
import PCastRendering
import Synchronization

/// A surface with the controls of a player drawn on its frames while they are visible.
final class ControlledSurface: RenderSurface {
    private struct State {
        var last: VideoFrame?
        var bar = ControlsBar.Content()
        var isVisible = false
        nonisolated(unsafe) let painter = ControlsBar()
    }

    private let base: any RenderSurface
    /// Held while a frame is given to the surface, which takes one at a time.
    private let state = Mutex(State())

    init(_ base: any RenderSurface) { self.base = base }

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

    // MARK: The controls

    /// Of effect from the next frame, or ``redraw()``, on.
    func setVisible(_ isVisible: Bool) { state.withLock { $0.isVisible = isVisible } }

    func setProgress(_ progress: Double?) { state.withLock { $0.bar.progress = progress } }

    func setPlaying(_ isPlaying: Bool) {
        state.withLock { state in
            guard state.bar.isPlaying != isPlaying else { return }
            state.bar.isPlaying = isPlaying
            if state.isVisible { draw(&state) }
        }
    }

    /// Shows the last frame again.
    func redraw() { state.withLock { draw(&$0) } }

    private func draw(_ state: inout State) {
        guard let frame = state.last else { return }
        base.show(state.isVisible ? state.painter.draw(state.bar, on: frame) : frame)
    }
}
