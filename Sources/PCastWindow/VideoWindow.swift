public import PCastCore
public import PCastRendering

/// A window on an X11 or Wayland display (SDL 2). It shows at most one frame per refresh of the display, the newest.
///
/// One thread draws all windows of the process. It exists while a window is open. SDL is loaded when the first window
/// is opened.
public final class VideoWindow: RenderSurface {
    private let state: WindowState

    /// Creates a window that is not open.
    public init(_ options: WindowOptions = WindowOptions()) { state = WindowState(options) }

    deinit {
        WindowThread.shared.close(state)
        state.events.finish()
    }

    /// Opens the window, also again after it was closed or lost. Returns when it is open. A second call has no effect.
    public func open() async throws(WindowError) {
        state.isRequested = true
        try await WindowThread.shared.open(state)
    }

    /// Closes the window; it is lost until it is opened again. Harmless when it is not open.
    public func close() {
        state.isRequested = false
        WindowThread.shared.close(state)
    }

    /// Whether the application opened the window, and since then neither the application nor a person closed it. True
    /// while the window is lost for any other reason.
    public var isOpenRequested: Bool { state.isRequested }

    /// Whether the window is open.
    public var isOpen: Bool { state.events.dimensions != nil }

    /// Shows a frame. It replaces a frame that was not drawn yet.
    public func show(_ frame: VideoFrame) {
        if state.put(frame) { WindowThread.shared.wake() }
    }

    /// The arrangement of frames. A change applies to the current frame at once.
    public var arrangement: FrameArrangement {
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
