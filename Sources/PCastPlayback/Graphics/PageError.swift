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
                + "name another one"
        case .needsUser:
            "as root the browser runs pages without a sandbox: run this as another user, or accept that "
                + "(--overlay-without-sandbox)"
        case .notLoaded(let address, let reason):
            "the page “\(address)” cannot be loaded (\(reason)): does a browser on this machine show it?"
        case .ended(let what): "the page is not drawn any more: \(what)"
        }
    }
}
