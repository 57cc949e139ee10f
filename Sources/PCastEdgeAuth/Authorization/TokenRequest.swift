public import PCastCore

/// A request that a token is to authorize.
public struct TokenRequest: Hashable, Sendable {
    /// The operation that the token is used for.
    public enum Purpose: Hashable, Sendable {
        /// Starting or resuming a session.
        case authenticate
        /// Publishing a stream.
        case publish
        /// Subscribing to a stream, which has these tags.
        case subscribe(originStreamID: String, tags: [String])
    }

    /// The operation.
    public var purpose: Purpose
    /// The session of the request, or the one to be resumed; nil for a new session.
    public var sessionID: String?
    /// The IP address of the client; nil if it is unknown, which satisfies no restriction.
    public var remoteAddress: IPAddress?
    /// The capabilities that are requested for the stream.
    public var capabilities: [String]

    /// Creates a request.
    public init(
        _ purpose: Purpose, sessionID: String? = nil, remoteAddress: IPAddress? = nil, capabilities: [String] = []
    ) {
        self.purpose = purpose
        self.sessionID = sessionID
        self.remoteAddress = remoteAddress
        self.capabilities = capabilities
    }
}
