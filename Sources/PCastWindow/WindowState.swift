import PCastIO
import PCastMedia
import PCastRendering
import Synchronization

/// What a window and the thread of windows share: a queue of one picture, and how it is to be shown.
final class WindowState: Sendable {
    /// What is to be drawn.
    struct Work {
        var frame: VideoFrame?
        /// When the picture was given; nil when it is drawn again.
        var given: Instant?
        var arrangement: PictureArrangement
    }

    private struct State {
        var options: WindowOptions
        var waiting: (frame: VideoFrame, given: Instant)?
        var last: VideoFrame?
        /// The last picture is to be drawn once more.
        var isStale = false
        /// Title or full screen are to be brought to what the options say.
        var isChanged = false
        var isOpen = false
        var isRequested = false
        var statistics = SurfaceStatistics()
        var drawing: String?
    }

    let events = SurfaceEvents()
    private let state: Mutex<State>

    init(_ options: WindowOptions) { state = Mutex(State(options: options)) }

    // MARK: The window's side

    /// Takes a picture. Answers whether the thread is to be woken.
    func put(_ frame: VideoFrame) -> Bool {
        let now = MonotonicClock.now()
        return state.withLock { state in
            guard state.isOpen else {
                state.last = frame
                state.statistics.picturesLeftOut += 1
                return false
            }
            if state.waiting != nil { state.statistics.picturesLeftOut += 1 }
            defer { state.waiting = (frame, now) }
            return state.waiting == nil
        }
    }

    var options: WindowOptions { state.withLock { $0.options } }

    var arrangement: PictureArrangement {
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

    // MARK: The thread's side

    func opened(_ dimensions: Dimensions) {
        state.withLock { state in
            state.isOpen = true
            state.isStale = true
            state.isChanged = false
        }
        events.tell(.ready(dimensions))
    }

    /// - Parameter event: `closed` or `lost`.
    func closed(_ event: SurfaceEvent) {
        state.withLock { state in
            state.isOpen = false
            state.drawing = nil
            if event == .closed { state.isRequested = false }
            guard let waiting = state.waiting else { return }
            state.last = waiting.frame
            state.waiting = nil
            state.statistics.picturesLeftOut += 1
        }
        events.tell(event)
    }

    func draws(with name: String) { state.withLock { $0.drawing = name } }

    /// The window was uncovered, or has another size.
    func expose() { state.withLock { $0.isStale = true } }

    /// The size of the first picture, once there is one.
    var firstDimensions: Dimensions? { state.withLock { ($0.waiting?.frame ?? $0.last)?.dimensions } }

    /// Whether title or full screen have changed since this was asked.
    func takeChanges() -> WindowOptions? {
        state.withLock { state in
            defer { state.isChanged = false }
            return state.isChanged ? state.options : nil
        }
    }

    /// Whether there is a picture that has not been drawn, and whether the last must be drawn again.
    var needs: (picture: Bool, redraw: Bool) { state.withLock { ($0.waiting != nil, $0.isStale) } }

    /// What is to be drawn now.
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
            state.statistics.picturesShown += 1
            state.statistics.delay = now - given
        }
    }
}
