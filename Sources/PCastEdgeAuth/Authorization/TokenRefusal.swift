public import PCastMedia

/// The restriction of a token that forbids a request.
public enum TokenRefusal: Error, Hashable, Sendable {
    case expired(at: WallTime)
    /// It is for authenticating, viewing or publishing only, and this is something else.
    case wrongType
    case wrongSession
    case wrongRemoteAddress
    case wrongOriginStream
    /// The stream does not carry the required tag.
    case missingTag(String)
    /// A capability was asked for that the token does not grant.
    case missingCapability(String)
}
