/// The reason why the overlay closes a page's WebSocket connection. The raw values are close codes for applications
/// (RFC 6455, section 7.4.2).
public enum OverlayClosing: UInt16, Hashable, Sendable, CaseIterable {
    /// The producer has disabled the overlay of the programme. It is not loaded again by itself.
    case disabled = 4_001
    /// The application or a fatal error has destroyed the overlay.
    case destroyed = 4_002
    /// The queue of messages for the page was full.
    case queueOverflowed = 4_003
    /// The page sent messages at too high a rate.
    case tooManyMessages = 4_004
    /// Too many messages of the page were invalid.
    case malformed = 4_005
    /// The overlay is unknown or not loaded yet.
    case notLoaded = 4_006
    /// The overlay has the maximum number of connected pages.
    case tooManyPages = 4_007
    /// The token of the page is invalid.
    case wrongToken = 4_008

    /// The WebSocket close code.
    public var code: UInt16 { rawValue }

    /// The reason for the close frame, at most 123 bytes (RFC 6455, section 5.5).
    public var reason: String {
        switch self {
        case .disabled: "the overlay was disabled"
        case .destroyed: "the overlay was destroyed"
        case .queueOverflowed: "the page does not read its messages: \(OverlayPageQueue.messageLimit) are waiting"
        case .tooManyMessages: "the page sends too many messages"
        case .malformed: "the page sent too many malformed messages"
        case .notLoaded: "the overlay is not loaded"
        case .tooManyPages: "too many pages are open"
        case .wrongToken: "the token is not valid here"
        }
    }
}
