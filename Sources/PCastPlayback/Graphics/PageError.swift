/// A reason why a page cannot be rendered.
public enum PageError: Error, Hashable, Sendable {
    /// The browser does not exist or cannot be started.
    case noBrowser(String, reason: String)
    /// The process runs as root, for which Chromium has no sandbox, and running without one was not permitted.
    case needsUser
    /// The page was not loaded.
    case notLoaded(String, reason: String)
    /// The browser or the page ended or does not respond.
    case ended(String)
}

extension PageError: CustomStringConvertible {
    /// The reason, for people, with what to do.
    public var description: String {
        switch self {
        case .noBrowser(let program, let reason):
            "the browser “\(program)” cannot be started (\(reason)): install Chromium (Debian: apt install chromium), or "
                + "set another one"
        case .needsUser:
            "the browser has no sandbox when it runs as root: run this as another user, or accept that "
                + "(--overlay-without-sandbox)"
        case .notLoaded(let address, let reason):
            "the page “\(address)” cannot be loaded (\(reason)): check its address in a browser on this host"
        case .ended(let what): "the page is no longer rendered: \(what)"
        }
    }
}
