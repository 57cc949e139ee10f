package import PCastCore

/// The reason why a playlist was not loaded.
package enum ReloadFailure: Error, Hashable, Sendable {
    /// The connection failed or broke.
    case unreachable
    /// No response arrived before the timeout.
    case timeout
    /// The response has an HTTP status other than success. `retryAfter` is the value of `Retry-After`, nil if missing.
    case status(Int, retryAfter: TimeSpan? = nil)
    /// The response is not a valid playlist.
    case unreadable(PlaylistError)
    /// The URI cannot be requested, or the response has an unsupported encoding.
    case invalidURI

    /// Whether a retry for an on-demand presentation is useless: it includes client errors other than 408, 425 and 429
    /// (RFC 9110, section 15.5). For a live presentation these may mean that the server has not created the resource
    /// yet.
    package var isFinalOnDemand: Bool {
        if case .status(let code, _) = self, (400..<500).contains(code), ![408, 425, 429].contains(code) {
            return true
        }
        return isFinal
    }

    /// Whether a retry is useless for any presentation, e.g. because access is denied or the resource is gone.
    package var isFinal: Bool {
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
