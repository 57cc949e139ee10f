import PCast
import PCastWindow

/// Where a command shows pictures, and the keys that a person presses there.
struct ShowingPlace: Sendable {
    private enum Surface: Sendable {
        case window(PictureWindow)
        case terminal(TerminalSurface)
    }

    private let opened: Surface

    /// Opens what was asked for; nil for nothing.
    ///
    /// - Throws: `CommandFailure`, `deviceTrouble` where there is no display or terminal.
    static func open(_ argument: RenderArgument, title: String) async throws -> ShowingPlace? {
        switch argument {
        case .null: return nil
        case .window:
            let window = PictureWindow(WindowOptions(title: title))
            do throws(WindowError) {
                try await window.open()
            } catch {
                throw CommandFailure(.deviceTrouble, "\(error)")
            }
            return ShowingPlace(opened: .window(window))
        case .terminal:
            do {
                return ShowingPlace(opened: .terminal(try TerminalSurface()))
            } catch {
                throw CommandFailure(.deviceTrouble, "Pictures cannot be shown in this terminal: \(error).")
            }
        }
    }

    var surface: any RenderSurface {
        switch opened {
        case .window(let window): window
        case .terminal(let terminal): terminal
        }
    }

    /// Whether it takes the terminal that people read.
    var coversTerminal: Bool {
        if case .terminal = opened { true } else { false }
    }

    /// Takes the whole display, or gives it back; a terminal has no more than it has.
    func toggleFullscreen() {
        if case .window(let window) = opened { window.isFullscreen.toggle() }
    }

    func close() {
        switch opened {
        case .window(let window): window.close()
        case .terminal(let terminal): terminal.close()
        }
    }

    /// What a person asks for.
    enum Wish: Sendable {
        case quit
        case mute
        case screenshot
    }

    /// Follows the keys q, m, s and f, and the window's own button, until the surface is gone.
    func follow(_ fulfil: (Wish) async -> Void) async {
        for await event in surface.events {
            switch event {
            case .key(.character("q")), .closed: await fulfil(.quit)
            case .key(.character("m")): await fulfil(.mute)
            case .key(.character("s")): await fulfil(.screenshot)
            case .key(.character("f")): toggleFullscreen()
            case .lost: await fulfil(.quit)
            case .key, .clicked, .ready, .resized: break
            }
        }
    }
}
