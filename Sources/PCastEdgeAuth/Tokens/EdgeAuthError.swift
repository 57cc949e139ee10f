/// Why a token could not be made.
public enum EdgeAuthError: Error, Hashable, Sendable {
    case missingApplicationID
    case missingSecret
    /// No `expires`, or zero.
    case missingExpiration
    /// The body names an application, which only the envelope may.
    case applicationIDInToken
    /// The encoded token would be longer than ``DigestTokens/maximumEncodedSize``, so that nobody could verify it.
    case tooLarge(byteCount: Int)
}

extension EdgeAuthError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .missingApplicationID: "Application ID must be set"
        case .missingSecret: "Secret must be set"
        case .missingExpiration: "Token must have an expiration (milliseconds since UNIX epoch)"
        case .applicationIDInToken: "Token should not have an application ID property"
        case .tooLarge(let byteCount): "Token of \(byteCount) bytes is too large"
        }
    }
}
