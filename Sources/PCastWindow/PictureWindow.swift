public import PCastMedia
public import PCastRendering

/// A window on an X11 or Wayland display, by SDL 2, in which a renderer's pictures are shown: one for each tick of the
/// display, the newest.
///
/// All windows of a process are drawn by one thread, which there is as long as a window is open. SDL is loaded when the
/// first is opened.
public final class PictureWindow: RenderSurface {
    private let state: WindowState

    /// Not yet open.
    public init(_ options: WindowOptions = WindowOptions()) { state = WindowState(options) }

    deinit {
        WindowThread.shared.close(state)
        state.events.finish()
    }

    /// Opens the window, also again after it was closed or lost, and returns when it is there. Harmless while it is open.
    public func open() async throws(WindowError) {
        state.isRequested = true
        try await WindowThread.shared.open(state)
    }

    /// Closes the window; it is lost until it is opened again. Harmless when it is not open.
    public func close() {
        state.isRequested = false
        WindowThread.shared.close(state)
    }

    /// Whether the application opened the window, and since then neither the application nor a person closed it. True while the
    /// window is lost for any other reason.
    public var isOpenRequested: Bool { state.isRequested }

    /// Whether it is there.
    public var isOpen: Bool { state.events.dimensions != nil }

    public func show(_ frame: VideoFrame) {
        if state.put(frame) { WindowThread.shared.wake() }
    }

    public var arrangement: PictureArrangement {
        get { state.arrangement }
        set {
            state.arrangement = newValue
            WindowThread.shared.wake()
        }
    }

    /// Whether it takes the whole display.
    public var isFullscreen: Bool {
        get { state.isFullscreen }
        set {
            state.isFullscreen = newValue
            WindowThread.shared.wake()
        }
    }

    /// What stands above the picture.
    public var title: String {
        get { state.title }
        set {
            state.title = newValue
            WindowThread.shared.wake()
        }
    }

    public var statistics: SurfaceStatistics { state.statistics }

    public var events: AsyncStream<SurfaceEvent> { state.events.read() }

    /// What draws: the display's system and "libyuv" or "OpenGL"; nil while the window is not open.
    public var drawing: String? { state.drawing }
}
