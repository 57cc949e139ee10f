public import PCastMedia

/// Why a playlist did not come.
public enum ReloadFailure: Error, Hashable, Sendable {
    /// Nobody answered, or the connection broke.
    case unreachable
    /// No answer within the time that the request had.
    case timeout
    /// An HTTP status other than success, and how long the server asked to be left alone (`Retry-After`).
    case status(Int, retryAfter: TimeSpan? = nil)
    case unreadable(PlaylistError)
    /// The address is none that can be asked, or answers in a form that nobody here reads.
    case invalidURI

    /// Asking again brings the same, unless the presentation is being made just now: the server does not know the address, or
    /// does not like the request (RFC 9110, section 15.5).
    public var isFinalOnDemand: Bool {
        if case .status(let code, _) = self, (400..<500).contains(code), ![408, 425, 429].contains(code) {
            return true
        }
        return isFinal
    }

    /// The address will not do, however often it is asked: it wants a login or a right, or is gone for good.
    public var isFinal: Bool {
        switch self {
        case .status(let code, _): [401, 403, 410, 451].contains(code)
        case .unreadable(let error):
            switch error {
            case .unsupportedVersion, .mixedKinds: true
            default: false
            }
        case .invalidURI: true
        case .unreachable, .timeout: false
        }
    }
}
