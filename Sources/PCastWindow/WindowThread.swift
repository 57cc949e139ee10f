import CSDL
import Dispatch
import Glibc
import PCastIO
import PCastMedia
import PCastRendering
import Synchronization

/// The thread that has SDL for itself, which allows no other one its windows: opens and closes them, draws, and reads
/// what happens to them. It runs while there is a window.
final class WindowThread: Sendable {
    static let shared = WindowThread()

    private enum Command: Sendable {
        case open(WindowState, @Sendable (WindowError?) -> Void)
        case close(WindowState)
        case closeAll(@Sendable () -> Void)
    }

    private struct State {
        /// What is not done; the first one may be under way.
        var commands: [Command] = []
        /// Told once SDL has ended.
        var endings: [@Sendable () -> Void] = []
        /// Those that may be open: who is told when the display goes.
        var windows: [WindowState] = []
        var isRunning = false
        var isDisplayLost = false
        /// Nil while the thread does not run.
        var alarm: WakeDescriptor?
        var thread: pthread_t?
    }

    /// A window that nothing happens to is looked at as seldom as this.
    private static let longestWait = TimeSpan.seconds(1)
    /// As seldom, where nothing tells of the display's events.
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

    /// Has windows looked at. Not by an event of SDL: that would travel by a second connection to the X server, of which
    /// Xlib ends the process when it breaks.
    func wake() { state.withLock { $0.alarm }?.signal() }

    /// Closes all windows before the process ends, for as long as a person would not notice: OpenGL's libraries are taken
    /// apart at the end, and whoever draws then would crash. Called once OpenGL is there, as what is registered last is
    /// done first.
    static let closesAtExit: Void = {
        atexit {
            let (shared, closed) = (WindowThread.shared, DispatchSemaphore(value: 0))
            guard shared.state.withLock({ $0.isRunning }) else { return }
            shared.send(.closeAll { closed.signal() })
            _ = closed.wait(timeout: .now() + .seconds(1))
        }
    }()

    /// Once: Xlib would end the process for an error of any window, and for a display that goes away. Whose connections
    /// are not ours is judged as before.
    private static let judgeBefore: csdl_broken? = csdl_follow_x_errors { display in
        WindowThread.shared.loseDisplay()
        return WindowThread.judgeBefore?(display) ?? 0
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

    /// Answers whoever wants a window that there is none, and ends.
    private func refuse(_ error: WindowError) {
        let commands = state.withLock { state in
            defer { state.commands = [] }
            state.isRunning = false
            state.alarm = nil
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

    // MARK: The thread

    private func run() {
        BrokenPipe.blockOnThisThread()
        guard let sdl = SDLLibrary.shared else { return refuse(.missing(SDLLibrary.missing)) }
        let alarm: WakeDescriptor
        do throws(IOError) {
            alarm = try WakeDescriptor()
        } catch {
            return refuse(.refused("\(error)"))
        }
        if state.withLock({ $0.isDisplayLost }) { return refuse(.displayLost) }
        state.withLock { $0.thread = pthread_self() }
        // Signals and the end of the last window are the program's to judge.
        _ = sdl.calls.SetHint("SDL_NO_SIGNAL_HANDLERS", "1")
        _ = sdl.calls.SetHint("SDL_QUIT_ON_LAST_WINDOW_CLOSE", "0")
        _ = sdl.calls.SetHint("SDL_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR", "0")
        _ = Self.judgeBefore
        guard sdl.calls.InitSubSystem(UInt32(CSDL_INIT_VIDEO)) == 0 else {
            return refuse(.refused(sdl.reason))
        }
        let system = sdl.calls.GetCurrentVideoDriver().map { String(cString: $0) } ?? ""
        // Where there is no display SDL draws into memory that nobody sees.
        if ["offscreen", "dummy", "evdev"].contains(system), getenv("SDL_VIDEODRIVER") == nil {
            sdl.calls.QuitSubSystem(UInt32(CSDL_INIT_VIDEO))
            return refuse(.refused("there is no display: neither DISPLAY nor WAYLAND_DISPLAY names one"))
        }
        // An emulated OpenGL under a window's memory costs ten times the copy that X11 makes without it. Wayland's
        // windows have no memory of their own in SDL 2.
        if system == "x11" { _ = sdl.calls.SetHint("SDL_FRAMEBUFFER_ACCELERATION", "0") }
        state.withLock { $0.alarm = alarm }
        var windows = OpenWindows(sdl, system: system)
        repeat {
            while let command = nextCommand() {
                perform(command, &windows)
                _ = state.withLock { $0.commands.removeFirst() }
            }
            wait(until: windows.draw(), alarm, &windows)
        } while !isDone(windows)
        sdl.calls.QuitSubSystem(UInt32(CSDL_INIT_VIDEO))
        // Whoever came while SDL ended begins anew.
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
            // Who ends the process waits until SDL has let go of OpenGL: libraries that go while others are taken apart
            // are called when they are gone.
            state.withLock { $0.endings.append(answer) }
        }
    }

    private func isDone(_ windows: borrowing OpenWindows) -> Bool {
        state.withLock { state in
            state.windows.removeAll { !$0.isOpen }
            guard windows.isEmpty, state.commands.isEmpty else { return false }
            state.alarm = nil
            return true
        }
    }

    private func wait(until deadline: Instant?, _ alarm: WakeDescriptor, _ windows: inout OpenWindows) {
        // What was read while something was drawn lies there already, and nothing would tell of it.
        if windows.isEmpty || windows.takeEvents() { return }
        let longest = windows.connection == nil ? Self.blindWait : Self.longestWait
        let span = min(deadline.map { max($0 - MonotonicClock.now(), .zero) } ?? longest, longest)
        alarm.wait(beside: windows.connection, within: span)
        windows.takeEvents()
    }

    /// The connection to the X server has broken, under some function of SDL's. That does not return: SDL takes it that
    /// the process ends then, and does not look at what it is answered. Nor may anything else be asked of SDL, not even
    /// to end. So the thread stays where it is, and all who count on it are told here. On other threads this does nothing.
    private func loseDisplay() {
        let lost: (windows: [WindowState], endings: [@Sendable () -> Void])? = state.withLock { state in
            guard let thread = state.thread, pthread_equal(thread, pthread_self()) != 0 else { return nil }
            defer { (state.windows, state.endings) = ([], []) }
            state.isDisplayLost = true
            return (state.windows, state.endings)
        }
        guard let lost else { return }
        for window in lost.windows where window.isOpen { window.closed(.lost(reason: "the display has gone")) }
        for ending in lost.endings { ending() }
        refuse(.displayLost)
        while true { pause() }
    }
}
