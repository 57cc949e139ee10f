import PCastCore
import PCastRendering
import Synchronization

/// Hands the pictures of a renderer on as they are due.
final class StreamSurface: RenderSurface {
    private struct State {
        var arrangement = FrameArrangement()
        var statistics = SurfaceStatistics()
    }

    private let onFrame: @Sendable (VideoFrame) -> Void
    private let state = Mutex(State())

    init(_ onFrame: @escaping @Sendable (VideoFrame) -> Void) { self.onFrame = onFrame }

    func show(_ frame: VideoFrame) { onFrame(frame) }

    /// Of no effect: whoever shows the pictures arranges them.
    var arrangement: FrameArrangement {
        get { state.withLock { $0.arrangement } }
        set { state.withLock { $0.arrangement = newValue } }
    }

    var statistics: SurfaceStatistics { state.withLock { $0.statistics } }

    /// It has no size and nobody who presses keys: nothing happens to it.
    var events: AsyncStream<SurfaceEvent> { AsyncStream { _ in } }
}
