public import PCastCore
import PCastIO
public import PCastRendering
import Synchronization

/// The state that a window shares with the window thread: a queue of one frame, and the options.
final class WindowState: Sendable {
    /// The content to draw.
    struct Work {
        var frame: VideoFrame?
        /// The time at which the frame was passed; nil if it is redrawn.
        var given: Instant?
        var arrangement: FrameArrangement
    }

    private struct State {
        var options: WindowOptions
        var waiting: (frame: VideoFrame, given: Instant)?
        var last: VideoFrame?
        /// Whether the last frame must be redrawn.
        var isStale = false
        /// Whether the title or full-screen mode in the options must be applied.
        var isChanged = false
        var isOpen = false
        var isRequested = false
        var statistics = SurfaceStatistics()
        var drawing: String?
    }

    let events = SurfaceEvents()
    private let state: Mutex<State>

    init(_ options: WindowOptions) { state = Mutex(State(options: options)) }

    // MARK: Window

    /// Queues a frame. Returns whether the window thread must be woken.
    func put(_ frame: VideoFrame) -> Bool {
        let now = MonotonicClock.now()
        return state.withLock { state in
            guard state.isOpen else {
                state.last = frame
                state.statistics.framesLeftOut += 1
                return false
            }
            if state.waiting != nil { state.statistics.framesLeftOut += 1 }
            defer { state.waiting = (frame, now) }
            return state.waiting == nil
        }
    }

    var options: WindowOptions { state.withLock { $0.options } }

    var arrangement: FrameArrangement {
        get { state.withLock { $0.options.arrangement } }
        set {
            state.withLock { state in
                state.isStale = state.isStale || state.options.arrangement != newValue
                state.options.arrangement = newValue
            }
        }
    }

    var isFullscreen: Bool {
        get { state.withLock { $0.options.isFullscreen } }
        set {
            state.withLock { state in
                state.isChanged = state.isChanged || state.options.isFullscreen != newValue
                state.options.isFullscreen = newValue
            }
        }
    }

    var title: String {
        get { state.withLock { $0.options.title } }
        set {
            state.withLock { state in
                state.isChanged = state.isChanged || state.options.title != newValue
                state.options.title = newValue
            }
        }
    }

    var statistics: SurfaceStatistics { state.withLock { $0.statistics } }

    var drawing: String? { state.withLock { $0.drawing } }

    var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Whether the application opened the window, and since then neither it nor a person closed it.
    var isRequested: Bool {
        get { state.withLock { $0.isRequested } }
        set { state.withLock { $0.isRequested = newValue } }
    }

    // MARK: Window thread

    func opened(_ dimensions: Dimensions) {
        state.withLock { state in
            state.isOpen = true
            state.isStale = true
            state.isChanged = false
        }
        events.notify(.ready(dimensions))
    }

    /// Records that the window was `closed` or `lost`.
    func closed(_ event: SurfaceEvent) {
        state.withLock { state in
            state.isOpen = false
            state.drawing = nil
            if event == .closed { state.isRequested = false }
            guard let waiting = state.waiting else { return }
            state.last = waiting.frame
            state.waiting = nil
            state.statistics.framesLeftOut += 1
        }
        events.notify(event)
    }

    func draws(with name: String) { state.withLock { $0.drawing = name } }

    /// Requests a redraw after the window was uncovered or resized.
    func expose() { state.withLock { $0.isStale = true } }

    /// The size of the first frame; nil before it.
    var firstDimensions: Dimensions? { state.withLock { ($0.waiting?.frame ?? $0.last)?.dimensions } }

    /// Returns the options if title or full-screen mode changed, and clears the change; nil otherwise.
    func takeChanges() -> WindowOptions? {
        state.withLock { state in
            defer { state.isChanged = false }
            return state.isChanged ? state.options : nil
        }
    }

    /// Whether a frame is queued, and whether the last one must be redrawn.
    var needs: (frame: Bool, redraw: Bool) { state.withLock { ($0.waiting != nil, $0.isStale) } }

    /// Returns the content to draw, and clears the queue.
    func take() -> Work {
        state.withLock { state in
            let waiting = state.waiting
            state.waiting = nil
            state.isStale = false
            if let waiting { state.last = waiting.frame }
            return Work(frame: state.last, given: waiting?.given, arrangement: state.options.arrangement)
        }
    }

    func drawn(_ work: Work, at now: Instant) {
        guard let given = work.given else { return }
        state.withLock { state in
            state.statistics.framesShown += 1
            state.statistics.delay = given.duration(to: now)
        }
    }
}

/// The options of a window.
public struct WindowOptions: Sendable {
    /// The method of drawing.
    public enum Drawing: String, CaseIterable, Sendable {
        /// The GPU if there is one, otherwise the CPU.
        case automatic
        /// OpenGL, even if it is emulated, with vertical synchronization if available.
        case accelerated
        /// libyuv, directly to memory that is shared with the X server. It takes a tenth of the CPU time of emulated
        /// OpenGL.
        case software
    }

    /// The title of the window.
    public var title: String

    /// The size in pixels; nil for the size of the first frame, limited by the display.
    public var dimensions: Dimensions?

    /// Whether the window is full screen.
    public var isFullscreen: Bool
    /// The arrangement of frames.
    public var arrangement: FrameArrangement
    /// The method of drawing.
    public var drawing: Drawing

    /// Creates options.
    public init(
        title: String = "PCast", dimensions: Dimensions? = nil, isFullscreen: Bool = false,
        arrangement: FrameArrangement = FrameArrangement(), drawing: Drawing = .automatic
    ) {
        self.title = title
        self.dimensions = dimensions
        self.isFullscreen = isFullscreen
        self.arrangement = arrangement
        self.drawing = drawing
    }
}
