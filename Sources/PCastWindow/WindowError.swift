/// The reason why a window cannot be opened.
public enum WindowError: Error, Hashable, Sendable, CustomStringConvertible {
    /// SDL 2 is not installed. Contains the dynamic linker's error.
    case missing(String)

    /// There is no display, or it refused the window. Contains SDL's error.
    case refused(String)

    /// The connection to the X server broke. SDL cannot be used again in this process.
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
