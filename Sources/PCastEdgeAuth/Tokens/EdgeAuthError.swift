/// The reason why a token could not be created.
public enum EdgeAuthError: Error, Hashable, Sendable {
    /// The application ID is missing or empty.
    case missingApplicationID
    /// The secret is missing.
    case missingSecret
    /// The value of `expires` is missing or zero.
    case missingExpiration
    /// The body has an `applicationId`, which belongs to the envelope only.
    case applicationIDInToken
    /// The encoded token is longer than ``DigestTokens/maximumEncodedSize``, and its verification would fail.
    case tooLarge(byteCount: Int)
}

extension EdgeAuthError: CustomStringConvertible {
    /// The message for a person, with the words of the public EdgeAuth libraries.
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
