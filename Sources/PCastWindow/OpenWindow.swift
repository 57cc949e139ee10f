import CSDL
import Glibc
import PCastCodecs
import PCastCore
import PCastIO
import PCastRendering

/// A window on the display. Only the window thread uses it.
struct OpenWindow {
    enum Outcome {
        case idle
        /// A frame may be drawn at this time.
        case waits(until: Instant)
        case failed(String)
    }

    /// The size before the first frame sets it.
    private static let provisional = Dimensions(width: 640, height: 360)

    /// SDL's window.
    let pointer: UnsafeMutableRawPointer
    let number: UInt32
    let state: WindowState

    private let sdl: SDLLibrary
    private let system: String
    private let mayWaitForDisplay: Bool
    private var canvas: (any WindowCanvas)?
    private var pace: DisplayRateLimiter
    /// Whether the window is hidden until its first frame, which sets its size.
    private var isHidden: Bool
    private var failures = 0

    init(
        _ sdl: SDLLibrary, _ state: WindowState, system: String, mayWaitForDisplay: Bool
    ) throws(WindowError) {
        (self.sdl, self.state, self.system) = (sdl, state, system)
        self.mayWaitForDisplay = mayWaitForDisplay
        let options = state.options
        isHidden = options.dimensions == nil && !options.isFullscreen
        let size = options.dimensions ?? Self.provisional
        var flags = UInt32(CSDL_WINDOW_RESIZABLE)
        if isHidden { flags |= UInt32(CSDL_WINDOW_HIDDEN) }
        if options.isFullscreen { flags |= UInt32(CSDL_WINDOW_FULLSCREEN_DESKTOP) }
        let position = Int32(CSDL_POSITION_CENTERED)
        guard
            let pointer = sdl.calls.CreateWindow(
                options.title, position, position, Int32(clamping: size.width), Int32(clamping: size.height), flags)
        else { throw .refused(sdl.reason) }
        self.pointer = pointer
        number = sdl.calls.GetWindowID(pointer)
        pace = Self.pace(sdl, pointer)
    }

    func reportOpened() { state.opened(dimensions) }

    func close() {
        canvas?.close()
        sdl.calls.DestroyWindow(pointer)
    }

    /// Discards the canvas. It is created again for the next frame.
    mutating func discardCanvas() {
        canvas?.close()
        canvas = nil
        state.expose()
    }

    /// Handles a window event.
    mutating func take(_ event: UInt8) {
        switch event {
        case UInt8(CSDL_WINDOW_EXPOSED): state.expose()
        case UInt8(CSDL_WINDOW_SIZE_CHANGED):
            state.expose()
            state.events.notify(.resized(dimensions))
        case UInt8(CSDL_WINDOW_DISPLAY_CHANGED): pace = Self.pace(sdl, pointer)
        default: break
        }
    }

    // MARK: Drawing

    /// Draws a queued frame if it is due.
    mutating func draw() -> Outcome {
        if let options = state.takeChanges() { apply(options) }
        let needs = state.needs
        guard needs.frame || needs.redraw else { return .idle }
        if isHidden {
            guard let size = state.firstDimensions else { return .idle }
            appear(in: size)
        }
        let now = MonotonicClock.now()
        if !needs.redraw, canvas?.isSynchronized != true {
            let earliest = pace.earliest(at: now)
            if earliest > now { return .waits(until: earliest) }
        }
        guard makeCanvas() else { return .failed(sdl.reason) }
        // The display reports when there is memory again.
        guard canvas!.isReady() else { return .waits(until: now + .milliseconds(10)) }
        let work = state.take()
        guard canvas!.draw(work.frame, work.arrangement) else {
            failures += 1
            if failures > 2 { return .failed(sdl.reason) }
            discardCanvas()
            return .waits(until: now + .milliseconds(10))
        }
        failures = 0
        let drawn = MonotonicClock.now()
        if work.given != nil { pace.drawn(at: now) }
        state.drawn(work, at: drawn)
        return .idle
    }

    private mutating func makeCanvas() -> Bool {
        if canvas != nil { return true }
        let drawing = state.options.drawing
        // The thread of an SDL whose X server has ended may hold locks of OpenGL.
        let mayUseOpenGL = !sdl.isCopy && drawing != .software
        if mayUseOpenGL, drawing == .accelerated || Self.hasGraphicsProcessor {
            canvas = TextureCanvas(
                sdl, window: pointer, isSynchronized: mayWaitForDisplay, isEmulationRefused: drawing == .automatic)
        }
        let isTexture = canvas != nil
        if isTexture { WindowThread.closesAtExit }
        if canvas == nil, !mayUseOpenGL || drawing != .accelerated {
            canvas = WaylandCanvas(sdl, window: pointer) ?? MemoryCanvas(sdl, window: pointer)
        }
        if canvas != nil { state.draws(with: "\(system), \(isTexture ? "OpenGL" : "libyuv")") }
        return canvas != nil
    }

    /// Whether the kernel has a graphics device. Otherwise OpenGL is emulated, and loading it takes long.
    private static let hasGraphicsProcessor = ["/dev/dri", "/dev/nvidia0", "/dev/mali0"]
        .contains { (path: String) in access(path, F_OK) == 0 }

    private static func pace(_ sdl: SDLLibrary, _ window: UnsafeMutableRawPointer) -> DisplayRateLimiter {
        var mode = csdl_display_mode()
        let display = sdl.calls.GetWindowDisplayIndex(window)
        let isKnown = display >= 0 && sdl.calls.GetCurrentDisplayMode(display, &mode) == 0
        return DisplayRateLimiter(refreshRate: isKnown ? Int(mode.refresh_rate) : 0)
    }

    // MARK: Window

    private var dimensions: Dimensions {
        if let canvas { return canvas.dimensions }
        var (width, height): (Int32, Int32) = (0, 0)
        sdl.calls.GetWindowSize(pointer, &width, &height)
        return Dimensions(width: Int(width), height: Int(height))
    }

    private func apply(_ options: WindowOptions) {
        sdl.calls.SetWindowTitle(pointer, options.title)
        let flags = options.isFullscreen ? UInt32(CSDL_WINDOW_FULLSCREEN_DESKTOP) : 0
        _ = sdl.calls.SetWindowFullscreen(pointer, flags)
    }

    /// Shows the window with the size of its first frame, or as large as the display allows.
    private mutating func appear(in frame: Dimensions) {
        isHidden = false
        let size =
            state.arrangement.rotation.exchangesSides
            ? Dimensions(width: frame.height, height: frame.width) : frame
        var usableBounds = csdl_rect()
        let display = sdl.calls.GetWindowDisplayIndex(pointer)
        var scale = 1.0
        if display >= 0, sdl.calls.GetDisplayUsableBounds(display, &usableBounds) == 0, usableBounds.w > 0,
            usableBounds.h > 0
        {
            scale = min(1, Double(usableBounds.w) / Double(size.width), Double(usableBounds.h) / Double(size.height))
        }
        let position = Int32(CSDL_POSITION_CENTERED)
        sdl.calls.SetWindowSize(
            pointer, Int32(max(1, Double(size.width) * scale)), Int32(max(1, Double(size.height) * scale)))
        sdl.calls.SetWindowPosition(pointer, position, position)
        sdl.calls.ShowWindow(pointer)
    }
}

/// Limits drawing to the refresh rate on a display without vertical synchronization. It reads no clock; the caller
/// passes the time.
///
/// A frame may be up to half an interval early, which the next frame compensates. Thus all frames of a stream with
/// jitter at the display's own rate are shown.
struct DisplayRateLimiter {
    /// The time between refreshes.
    let interval: TimeSpan

    /// The time at which the next frame is due.
    private var next: Instant?

    /// Creates a pace from a refresh rate per second. 0, which virtual displays report, counts as 60.
    init(refreshRate: Int) {
        interval = .seconds(1) / Int64(refreshRate > 0 ? refreshRate : 60)
    }

    /// Returns the earliest time for a frame.
    func earliest(at now: Instant) -> Instant {
        guard let next else { return now }
        return max(now, next - interval / 2)
    }

    mutating func drawn(at now: Instant) {
        next = max(now, next ?? now) + interval
    }
}
