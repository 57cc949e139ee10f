import CSDL
import PCastIO
import PCastMedia
import PCastRendering

/// The windows that are open. Used by the thread of windows alone.
struct OpenWindows {
    private let sdl: SDLLibrary
    /// SDL's name of what the display is, such as `x11`.
    private let system: String
    private var windows: [OpenWindow] = []
    /// What can be read when something happens on the display; nil where that is not known.
    private(set) var connection: Int32?

    init(_ sdl: SDLLibrary, system: String) {
        (self.sdl, self.system) = (sdl, system)
    }

    var isEmpty: Bool { windows.isEmpty }

    mutating func open(_ state: WindowState) -> WindowError? {
        if windows.contains(where: { $0.state === state }) { return nil }
        // Each synchronised window waits for the display by itself: with two of them both would be slow.
        let isFirst = windows.isEmpty
        do throws(WindowError) {
            let window = try OpenWindow(sdl, state, system: system, mayWaitForDisplay: isFirst)
            findConnection(by: window)
            windows.append(window)
            window.tellOpened()
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

    /// Draws what is due. Answers when something will be.
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

    /// Takes in what has happened. Answers whether anything has.
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
            windows[index].state.events.tell(.key(key))
        case UInt32(CSDL_EVENT_BUTTON_DOWN):
            // SDL_BUTTON_LEFT.
            guard event.button.button == 1, let index = index(of: event.button.window) else { return }
            windows[index].state.events.tell(.clicked)
        case UInt32(CSDL_EVENT_RENDER_TARGETS_RESET), UInt32(CSDL_EVENT_RENDER_DEVICE_RESET):
            for index in windows.indices { windows[index].forgetCanvas() }
        default: break
        }
    }

    /// - Parameter number: 0 where no window has the keyboard, as without a window manager: then it is the only one's.
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
    /// SDL's number of a key: what it writes, or a place on the keyboard with bit 30 (SDL_Keycode).
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
