public import PCastMedia
public import PCastRendering

/// A window on an X11 or Wayland display (SDL 2). It shows at most one frame per refresh of the display, the newest.
///
/// One thread draws all windows of the process. It exists while a window is open. SDL is loaded when the first window
/// is opened.
public final class PictureWindow: RenderSurface {
    private let state: WindowState

    /// Creates a window that is not open.
    public init(_ options: WindowOptions = WindowOptions()) { state = WindowState(options) }

    deinit {
        WindowThread.shared.close(state)
        state.events.finish()
    }

    /// Opens the window and returns when it is ready. It has no effect on an open window; a closed or lost one is
    /// opened again. Throws `WindowError` if there is no display.
    public func open() async throws(WindowError) { try await WindowThread.shared.open(state) }

    /// Closes the window, which can be opened again. It has no effect if the window is not open.
    public func close() { WindowThread.shared.close(state) }

    /// Whether the window is open.
    public var isOpen: Bool { state.events.dimensions != nil }

    /// Shows a frame. It replaces a frame that was not drawn yet.
    public func show(_ frame: VideoFrame) {
        if state.put(frame) { WindowThread.shared.wake() }
    }

    /// The arrangement of frames. A change applies to the current frame at once.
    public var arrangement: PictureArrangement {
        get { state.arrangement }
        set {
            state.arrangement = newValue
            WindowThread.shared.wake()
        }
    }

    /// Whether the window is full screen.
    public var isFullscreen: Bool {
        get { state.isFullscreen }
        set {
            state.isFullscreen = newValue
            WindowThread.shared.wake()
        }
    }

    /// The title of the window.
    public var title: String {
        get { state.title }
        set {
            state.title = newValue
            WindowThread.shared.wake()
        }
    }

    /// The statistics of the window.
    public var statistics: SurfaceStatistics { state.statistics }

    /// The events of the window from now on.
    public var events: AsyncStream<SurfaceEvent> { state.events.read() }

    /// The video driver and "libyuv" or "OpenGL"; nil while the window is not open.
    public var drawing: String? { state.drawing }
}
