/// Why a page cannot be drawn, and what can be done about it.
public enum PageError: Error, Hashable, Sendable {
    /// There is no such browser, or it cannot be started.
    case noBrowser(String, reason: String)
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
        case .notLoaded(let address, let reason):
            "the page “\(address)” cannot be loaded (\(reason)): does a browser on this machine show it?"
        case .ended(let what): "the page is not drawn any more: \(what)"
        }
    }
}
