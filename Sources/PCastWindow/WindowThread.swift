import CSDL
import Dispatch
import Glibc
import PCastCore
import PCastIO
import PCastRendering
import Synchronization

/// The window thread. It alone calls SDL, which requires that: it opens and closes windows, draws them, and reads their
/// events. It runs while there is a window.
final class WindowThread: Sendable {
    static let shared = WindowThread()

    private enum Command: Sendable {
        case open(WindowState, @Sendable (WindowError?) -> Void)
        case close(WindowState)
        case closeAll(@Sendable () -> Void)
    }

    private struct State {
        /// The pending commands. The first one may be in progress.
        var commands: [Command] = []
        /// The callbacks to call after SDL has ended.
        var endings: [@Sendable () -> Void] = []
        /// The windows that may be open, which are notified if the display is lost.
        var windows: [WindowState] = []
        var isRunning = false
        /// The descriptor that wakes the thread; nil while it does not run.
        var wakeDescriptor: WakeDescriptor?
        var thread: pthread_t?
    }

    /// The longest wait without events.
    private static let longestWait = TimeSpan.seconds(1)
    /// The longest wait if there is no descriptor for display events.
    private static let blindWait = TimeSpan.milliseconds(10)

    private let state = Mutex(State())

    private init() {}

    // MARK: Any thread

    func open(_ window: WindowState) async throws(WindowError) {
        let failure: WindowError? = await withCheckedContinuation { continuation in
            send(.open(window) { continuation.resume(returning: $0) })
        }
        if let failure { throw failure }
    }

    func close(_ window: WindowState) {
        guard state.withLock({ $0.isRunning }) else { return }
        send(.close(window))
    }

    /// Wakes the thread. It does not use an SDL event, because that requires a second connection to the X server, and
    /// Xlib ends the process if that connection breaks.
    func wake() { state.withLock { $0.wakeDescriptor }?.signal() }

    /// Closes all windows before the process exits, within one second. OpenGL's libraries are finalized at exit, and a
    /// thread that draws then would crash. It is registered after OpenGL is loaded, because exit handlers run in
    /// reverse order.
    static let closesAtExit: Void = {
        atexit {
            let (shared, closed) = (WindowThread.shared, DispatchSemaphore(value: 0))
            guard shared.state.withLock({ $0.isRunning }) else { return }
            shared.send(.closeAll { closed.signal() })
            _ = closed.wait(timeout: .now() + .seconds(1))
        }
    }()

    /// Replaces Xlib's handlers once, because they end the process after an error of any window or the loss of a
    /// display. The previous handler still handles connections of other libraries.
    private static let previousErrorHandler: csdl_broken? = csdl_follow_x_errors { display in
        WindowThread.shared.loseDisplay()
        return WindowThread.previousErrorHandler?(display) ?? 0
    }

    private func send(_ command: Command) {
        let isFirst = state.withLock { state in
            state.commands.append(command)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isFirst else { return wake() }
        do throws(IOError) {
            _ = try WorkerThread(name: "windows", precedence: .media) { self.run() }
        } catch {
            refuse(.refused("\(error)"))
        }
    }

    /// Reports an error to all pending commands and marks the thread as ended.
    private func refuse(_ error: WindowError) {
        let commands = state.withLock { state in
            defer { state.commands = [] }
            state.isRunning = false
            state.wakeDescriptor = nil
            state.thread = nil
            return state.commands
        }
        for command in commands {
            switch command {
            case .open(_, let answer): answer(error)
            case .close: break
            case .closeAll(let answer): answer()
            }
        }
    }

    // MARK: Window thread

    private func run() {
        BrokenPipe.blockOnThisThread()
        let sdl: SDLLibrary
        do throws(WindowError) {
            sdl = try SDLLibrary.current()
        } catch {
            return refuse(error)
        }
        let wakeDescriptor: WakeDescriptor
        do throws(IOError) {
            wakeDescriptor = try WakeDescriptor()
        } catch {
            return refuse(.refused("\(error)"))
        }
        state.withLock { $0.thread = pthread_self() }
        // The program handles signals and the closing of the last window itself.
        _ = sdl.calls.SetHint("SDL_NO_SIGNAL_HANDLERS", "1")
        _ = sdl.calls.SetHint("SDL_QUIT_ON_LAST_WINDOW_CLOSE", "0")
        _ = sdl.calls.SetHint("SDL_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR", "0")
        _ = Self.previousErrorHandler
        guard sdl.calls.InitSubSystem(UInt32(CSDL_INIT_VIDEO)) == 0 else {
            return refuse(.refused(sdl.reason))
        }
        let system = sdl.calls.GetCurrentVideoDriver().map { String(cString: $0) } ?? ""
        // Without a display, SDL would draw to invisible memory.
        if ["offscreen", "dummy", "evdev"].contains(system), getenv("SDL_VIDEODRIVER") == nil {
            sdl.calls.QuitSubSystem(UInt32(CSDL_INIT_VIDEO))
            return refuse(.refused("there is no display: set DISPLAY or WAYLAND_DISPLAY"))
        }
        // Emulated OpenGL behind a window's memory costs ten times as much as X11's own copy. On Wayland, SDL 2 has no
        // other memory, and `WaylandCanvas` is used.
        if system == "x11" { _ = sdl.calls.SetHint("SDL_FRAMEBUFFER_ACCELERATION", "0") }
        state.withLock { $0.wakeDescriptor = wakeDescriptor }
        var windows = OpenWindows(sdl, system: system)
        repeat {
            while let command = nextCommand() {
                perform(command, &windows)
                _ = state.withLock { $0.commands.removeFirst() }
            }
            wait(until: windows.draw(), wakeDescriptor, &windows)
        } while !isDone(windows)
        sdl.calls.QuitSubSystem(UInt32(CSDL_INIT_VIDEO))
        // Commands that came while SDL ended start it again.
        let (endings, isWanted) = state.withLock { state in
            defer { state.endings = [] }
            state.isRunning = !state.commands.isEmpty
            state.thread = nil
            return (state.endings, state.isRunning)
        }
        for ending in endings { ending() }
        if isWanted { run() }
    }

    private func nextCommand() -> Command? {
        state.withLock { state in
            guard let command = state.commands.first else { return nil }
            if case .open(let window, _) = command, !state.windows.contains(where: { $0 === window }) {
                state.windows.append(window)
            }
            return command
        }
    }

    private func perform(_ command: Command, _ windows: inout OpenWindows) {
        switch command {
        case .open(let window, let answer): answer(windows.open(window))
        case .close(let window): windows.close(window, as: .lost(reason: "closed"))
        case .closeAll(let answer):
            windows.closeAll()
            // The process must wait until SDL has released OpenGL, because its libraries crash if they are called after
            // they were finalized.
            state.withLock { $0.endings.append(answer) }
        }
    }

    private func isDone(_ windows: borrowing OpenWindows) -> Bool {
        state.withLock { state in
            state.windows.removeAll { !$0.isOpen }
            guard windows.isEmpty, state.commands.isEmpty else { return false }
            state.wakeDescriptor = nil
            return true
        }
    }

    private func wait(until deadline: Instant?, _ wakeDescriptor: WakeDescriptor, _ windows: inout OpenWindows) {
        // Events that SDL read while it drew are already queued, and the descriptor does not report them.
        if windows.isEmpty || windows.takeEvents() { return }
        let longest = windows.connection == nil ? Self.blindWait : Self.longestWait
        let span = min(deadline.map { max($0 - MonotonicClock.now(), .zero) } ?? longest, longest)
        wakeDescriptor.wait(beside: windows.connection, within: span)
        windows.takeEvents()
    }

    /// Handles the loss of the connection to the X server within an SDL call. The handler must not return, because SDL
    /// assumes that the process ends. SDL must not be called again, not even to quit. So this thread stays here forever
    /// after it has notified all windows, and the next window is opened by a copy of SDL on another thread. It does
    /// nothing on other threads.
    private func loseDisplay() {
        let lost: (windows: [WindowState], endings: [@Sendable () -> Void])? = state.withLock { state in
            guard let thread = state.thread, pthread_equal(thread, pthread_self()) != 0 else { return nil }
            defer { (state.windows, state.endings) = ([], []) }
            return (state.windows, state.endings)
        }
        guard let lost else { return }
        SDLLibrary.abandon()
        // A window that is opened from now on starts another thread.
        refuse(.displayLost)
        for window in lost.windows where window.isOpen { window.closed(.lost(reason: OpenWindows.displayClosed)) }
        for ending in lost.endings { ending() }
        while true { pause() }
    }
}

/// The reason why a window cannot be opened.
public enum WindowError: Error, Hashable, Sendable, CustomStringConvertible {
    /// SDL 2 is not installed. Contains the dynamic linker's error.
    case missing(String)

    /// There is no display, or it refused the window. Contains SDL's error.
    case refused(String)

    /// The connection to the display broke while the window was opened, or the process has lost too many displays.
    case displayLost

    /// The error, and what to install if SDL is missing.
    public var description: String {
        switch self {
        case .missing(let reason):
            "A window requires SDL 2, which is not installed (Debian: apt install libsdl2-2.0-0): \(reason)."
        case .refused(let reason): "No window can be opened: \(reason)."
        case .displayLost: "No window can be opened: the display was closed."
        }
    }
}

/// The open windows. Only the window thread uses it.
struct OpenWindows {
    private let sdl: SDLLibrary
    /// SDL's name of the video driver, such as `x11`.
    private let system: String
    private var windows: [OpenWindow] = []
    /// The file descriptor that becomes readable with display events; nil if it is unknown.
    private(set) var connection: Int32?

    /// The reason of windows whose display server has ended.
    static let displayClosed = "the display was closed"

    init(_ sdl: SDLLibrary, system: String) {
        (self.sdl, self.system) = (sdl, system)
    }

    var isEmpty: Bool { windows.isEmpty }

    mutating func open(_ state: WindowState) -> WindowError? {
        if windows.contains(where: { $0.state === state }) { return nil }
        // With vertical synchronization, each window waits for the display, so two of them would halve the rate.
        let isFirst = windows.isEmpty
        do throws(WindowError) {
            let window = try OpenWindow(sdl, state, system: system, mayWaitForDisplay: isFirst)
            findConnection(by: window)
            windows.append(window)
            window.reportOpened()
            return nil
        } catch {
            return error
        }
    }

    mutating func close(_ state: WindowState, as event: SurfaceEvent) {
        guard let index = windows.firstIndex(where: { $0.state === state }) else { return }
        let window = windows.remove(at: index)
        window.close()
        state.closed(event)
    }

    mutating func closeAll(_ reason: String = "the program ends") {
        for window in windows { close(window.state, as: .lost(reason: reason)) }
        connection = nil
    }

    /// Draws frames that are due. Returns the time at which the next one is due; nil for none.
    mutating func draw() -> Instant? {
        var deadline: Instant?
        for index in windows.indices.reversed() {
            let outcome = windows[index].draw()
            switch outcome {
            case .idle: break
            case .waits(let instant): deadline = Instant.earlier(deadline, instant)
            case .failed(let reason):
                let window = windows.remove(at: index)
                window.close()
                window.state.closed(.lost(reason: reason))
            }
        }
        return deadline
    }

    /// Handles all pending events. Returns whether there were any.
    @discardableResult
    mutating func takeEvents() -> Bool {
        var event = csdl_event()
        var count = 0
        while sdl.calls.PollEvent(&event) == 1 {
            take(event)
            count += 1
        }
        return count > 0
    }

    private mutating func take(_ event: csdl_event) {
        switch event.type {
        case UInt32(CSDL_EVENT_WINDOW):
            guard let index = index(of: event.window.window) else { return }
            if event.window.event == UInt8(CSDL_WINDOW_CLOSE) {
                close(windows[index].state, as: .closed)
            } else {
                windows[index].take(event.window.event)
            }
        case UInt32(CSDL_EVENT_KEY_DOWN):
            guard event.key.is_repeated == 0, let index = index(of: event.key.window),
                let key = SurfaceKey(symbol: event.key.symbol)
            else { return }
            windows[index].state.events.notify(.key(key))
        case UInt32(CSDL_EVENT_BUTTON_DOWN):
            // SDL_BUTTON_LEFT.
            guard event.button.button == 1, let index = index(of: event.button.window) else { return }
            windows[index].state.events.notify(.clicked)
        case UInt32(CSDL_EVENT_RENDER_TARGETS_RESET), UInt32(CSDL_EVENT_RENDER_DEVICE_RESET):
            for index in windows.indices { windows[index].discardCanvas() }
        // SDL's other reasons, signals and the last window, are switched off. So the compositor of Wayland has ended.
        case UInt32(CSDL_EVENT_QUIT): closeAll(Self.displayClosed)
        default: break
        }
    }

    /// Returns the index of a window by SDL's ID. The ID is 0 if no window has the keyboard focus, as without a window
    /// manager; then it is that of the only window.
    private func index(of number: UInt32) -> Int? {
        if number == 0 { return windows.count == 1 ? 0 : nil }
        return windows.firstIndex { $0.number == number }
    }

    private mutating func findConnection(by window: OpenWindow) {
        var information = csdl_system_info()
        // SDL reports displays of Wayland to programs of 2.0.6 and later only.
        (information.major, information.minor, information.patch) = (2, 0, 18)
        guard sdl.calls.GetWindowWMInfo(window.pointer, &information) == 1 else { return }
        let number = csdl_connection(&information)
        connection = number < 0 ? nil : number
    }
}

extension SurfaceKey {
    /// Returns the key of an SDL_Keycode: a character, or a scan code with bit 30. Returns nil for other keys.
    fileprivate init?(symbol: Int32) {
        switch symbol {
        case 27: self = .escape
        case 13: self = .enter
        case 0x4000_004F: self = .right
        case 0x4000_0050: self = .left
        case 0x4000_0051: self = .down
        case 0x4000_0052: self = .up
        case 0x20..<0x7F: self = .character(Character(Unicode.Scalar(UInt8(symbol))))
        default: return nil
        }
    }
}
