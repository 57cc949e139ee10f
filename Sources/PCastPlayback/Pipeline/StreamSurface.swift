import PCastCore
import PCastRendering
import Synchronization

/// A surface that passes the frames of a renderer to a function when they are due.
final class StreamSurface: RenderSurface {
    private struct State {
        var arrangement = FrameArrangement()
        var statistics = SurfaceStatistics()
    }

    private let onFrame: @Sendable (VideoFrame) -> Void
    private let state = Mutex(State())

    /// Creates a surface.
    init(_ onFrame: @escaping @Sendable (VideoFrame) -> Void) { self.onFrame = onFrame }

    /// Passes a frame on.
    func show(_ frame: VideoFrame) { onFrame(frame) }

    /// The arrangement, which has no effect, because the final surface arranges the frames.
    var arrangement: FrameArrangement {
        get { state.withLock { $0.arrangement } }
        set { state.withLock { $0.arrangement = newValue } }
    }

    var statistics: SurfaceStatistics { state.withLock { $0.statistics } }

    /// A stream without events, because this surface has neither size nor input.
    var events: AsyncStream<SurfaceEvent> { AsyncStream { _ in } }
}
