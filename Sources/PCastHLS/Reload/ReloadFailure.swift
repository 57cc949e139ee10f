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

    /// The address will not do, however often it is asked: it wants a login or a right, or is gone for good.
    public var isFinal: Bool {
        switch self {
        case .status(let code, _): [401, 403, 410, 451].contains(code)
        case .unreadable(let error):
            switch error {
            case .unsupportedVersion, .mixedKinds: true
            default: false
            }
        case .unreachable, .timeout: false
        }
    }
}
