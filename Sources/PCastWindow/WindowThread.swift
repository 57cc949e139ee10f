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
        var commands: [Command] = []
        var isRunning = false
        /// The X server has gone: SDL may not be touched any more, not even to end it, as what it still has open would end
        /// the process.
        var isDisplayLost = false
        /// Nil while the thread does not run.
        var alarm: WakeDescriptor?
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

    /// Once: Xlib would end the process for an error of any window.
    private static let passesOverErrors: Void = csdl_pass_over_x_errors()

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
        // Signals and the end of the last window are the program's to judge.
        _ = sdl.calls.SetHint("SDL_NO_SIGNAL_HANDLERS", "1")
        _ = sdl.calls.SetHint("SDL_QUIT_ON_LAST_WINDOW_CLOSE", "0")
        _ = sdl.calls.SetHint("SDL_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR", "0")
        Self.passesOverErrors
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
        // Who ends the process waits until SDL has let go of OpenGL: libraries that go while others are taken apart are
        // called when they are gone.
        var endings: [@Sendable () -> Void] = []
        while let commands = nextCommands(isIdle: windows.isEmpty) {
            for command in commands {
                switch command {
                case .open(let window, let answer): answer(windows.open(window))
                case .close(let window): windows.close(window, as: .lost(reason: "closed"))
                case .closeAll(let answer):
                    windows.closeAll()
                    endings.append(answer)
                }
            }
            let deadline = windows.draw()
            if !windows.isDisplayLost { wait(until: deadline, alarm, &windows) }
            if windows.isDisplayLost {
                state.withLock { $0.isDisplayLost = true }
                for ending in endings { ending() }
                return refuse(.displayLost)
            }
        }
        sdl.calls.QuitSubSystem(UInt32(CSDL_INIT_VIDEO))
        for ending in endings { ending() }
        // Whoever came while SDL ended begins anew.
        let isWanted = state.withLock { state in
            state.isRunning = !state.commands.isEmpty
            return state.isRunning
        }
        if isWanted { run() }
    }

    /// Nil when there is nothing left to do.
    private func nextCommands(isIdle: Bool) -> [Command]? {
        state.withLock { state in
            if isIdle, state.commands.isEmpty {
                state.alarm = nil
                return nil
            }
            defer { state.commands = [] }
            return state.commands
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
}
