import CSDL
import PCastCore
import PCastIO
import PCastRendering

/// The open windows. Only the window thread uses it.
struct OpenWindows {
    private let sdl: SDLLibrary
    /// SDL's name of the video driver, such as `x11`.
    private let system: String
    private var windows: [OpenWindow] = []
    /// The file descriptor that becomes readable with display events; nil if it is unknown.
    private(set) var connection: Int32?

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

    mutating func closeAll() {
        for window in windows { close(window.state, as: .lost(reason: "the program ends")) }
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
        (information.major, information.minor) = (2, 0)
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
