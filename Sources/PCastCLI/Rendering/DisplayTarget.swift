import PCast
import PCastWindow

/// The window or terminal that renders video, with its keys.
struct DisplayTarget: Sendable {
    private enum Surface: Sendable {
        case window(VideoWindow)
        case terminal(TerminalSurface)
    }

    private let opened: Surface

    /// Opens the target; nil for the null target.
    ///
    /// - Throws: ``CommandFailure``, whose status is `deviceFailure` if there is no display or terminal.
    static func open(_ argument: RenderArgument, title: String) async throws -> DisplayTarget? {
        switch argument {
        case .null: return nil
        case .window:
            let window = VideoWindow(WindowOptions(title: title))
            do throws(WindowError) {
                try await window.open()
            } catch {
                throw CommandFailure(.deviceFailure, "\(error)")
            }
            return DisplayTarget(opened: .window(window))
        case .terminal:
            do {
                return DisplayTarget(opened: .terminal(try TerminalSurface()))
            } catch {
                throw CommandFailure(.deviceFailure, "Video cannot be rendered in this terminal: \(error).")
            }
        }
    }

    var surface: any RenderSurface {
        switch opened {
        case .window(let window): window
        case .terminal(let terminal): terminal
        }
    }

    /// Whether it covers the terminal that shows messages.
    var coversTerminal: Bool {
        if case .terminal = opened { true } else { false }
    }

    /// Toggles full screen. It has no effect in a terminal.
    func toggleFullscreen() {
        if case .window(let window) = opened { window.isFullscreen.toggle() }
    }

    func close() {
        switch opened {
        case .window(let window): window.close()
        case .terminal(let terminal): terminal.close()
        }
    }

    /// A request of the user.
    enum UserRequest: Sendable {
        case quit
        case mute
        case screenshot
        /// Moves by a step forward or back.
        case step(forward: Bool)
        case pause
        case live
    }

    /// Processes the keys q, m, s, f and l, the arrows and the space bar, and the close button of the window, until the
    /// window or terminal is closed.
    func follow(_ perform: (UserRequest) async -> Void) async {
        for await event in surface.events {
            switch event {
            case .key(.character("q")), .closed: await perform(.quit)
            case .key(.character("m")): await perform(.mute)
            case .key(.character("s")): await perform(.screenshot)
            case .key(.character("f")): toggleFullscreen()
            case .key(.left): await perform(.step(forward: false))
            case .key(.right): await perform(.step(forward: true))
            case .key(.character(" ")): await perform(.pause)
            case .key(.character("l")): await perform(.live)
            case .lost: await perform(.quit)
            case .key, .clicked, .ready, .resized: break
            }
        }
    }
}
