public import PCastCore

/// The restriction of a token that forbids a request.
public enum TokenRejection: Error, Hashable, Sendable {
    /// The token has expired.
    case expired(at: WallTime)
    /// The token is for authenticating, subscribing or publishing only, and the request has another purpose.
    case wrongType
    /// The token is for another session.
    case wrongSession
    /// The token is for another IP address, or the address of the request is unknown.
    case wrongRemoteAddress
    /// The token is for another stream.
    case wrongOriginStream
    /// The stream does not have the tag that the token requires.
    case missingTag(String)
    /// The request needs a capability that the token does not grant.
    case missingCapability(String)
}
