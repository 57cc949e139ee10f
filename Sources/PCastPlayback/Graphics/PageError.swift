/// Why a page cannot be drawn, and what can be done about it.
public enum PageError: Error, Hashable, Sendable {
    /// There is no such browser, or it cannot be started.
    case noBrowser(String, reason: String)
    /// Root runs no browser that is exposed to a page without a sandbox, unless that is asked for.
    case needsUser
    /// The page could not be loaded.
    case notLoaded(String, reason: String)
    /// The browser or its page ended by itself, or does not answer.
    case ended(String)
}

extension PageError: CustomStringConvertible {
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
