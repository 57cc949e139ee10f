/// Why a page's connection is closed, as it is told: the codes are for applications (RFC 6455, section 7.4.2).
public enum OverlayClosing: UInt16, Hashable, Sendable, CaseIterable {
    /// The producer has disabled the programme's overlay; it does not come back.
    case disabled = 4_001
    /// The overlay was destroyed, by the application or a fatal error.
    case destroyed = 4_002
    /// What waited for the page was more than is kept.
    case fellBehind = 4_003
    /// The page says more than it may.
    case tooManyMessages = 4_004
    /// Too much of what it says is no message.
    case malformed = 4_005
    /// The overlay is not loaded yet, or nobody knows such a one.
    case notLoaded = 4_006
    /// As many pages as may are here already.
    case tooManyPages = 4_007
    /// Its token is none.
    case wrongToken = 4_008

    public var code: UInt16 { rawValue }

    /// In at most 123 bytes, as a close frame has room for (RFC 6455, section 5.5).
    public var reason: String {
        switch self {
        case .disabled: "the overlay was disabled"
        case .destroyed: "the overlay was destroyed"
        case .fellBehind: "the page fell behind: \(OverlayPageQueue.messageLimit) messages waited for it"
        case .tooManyMessages: "the page says too much"
        case .malformed: "too many messages could not be read"
        case .notLoaded: "no such overlay is loaded"
        case .tooManyPages: "too many pages are open"
        case .wrongToken: "the token is not valid here"
        }
    }
}
