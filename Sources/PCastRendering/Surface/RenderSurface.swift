public import PCastCore

/// A destination for frames: a window, a terminal, or an application's own surface.
///
/// A surface can be lost, e.g., if the user closes the window, and become ready again. Frames in between are dropped.
public protocol RenderSurface: AnyObject, Sendable {
    /// Shows a frame until the next one. Only one thread may call it at a time. It must not block: it stores at most
    /// one frame that it has not drawn, and counts the frames that it drops.
    func show(_ frame: VideoFrame)

    /// The arrangement of frames. A change applies to the current frame at once.
    var arrangement: FrameArrangement { get set }

    /// The statistics of the surface.
    var statistics: SurfaceStatistics { get }

    /// The events of the surface from now on, starting with `ready` if it is ready. At most 64 events are buffered. The
    /// stream ends with the surface.
    var events: AsyncStream<SurfaceEvent> { get }
}
