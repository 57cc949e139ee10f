/// Why there is no window.
public enum WindowError: Error, Hashable, Sendable, CustomStringConvertible {
    /// SDL 2 is not installed; in the dynamic linker's words.
    case missing(String)

    /// There is no display, or it refused; in SDL's words.
    case refused(String)

    /// The X server has gone, and SDL with it: another can be had by another process alone.
    case displayLost

    public var description: String {
        switch self {
        case .missing(let reason):
            "A window needs SDL 2 (Debian's libsdl2-2.0-0), which is not there: \(reason)."
        case .refused(let reason): "No window can be opened: \(reason)."
        case .displayLost: "No window can be opened: the display has gone."
        }
    }
}
