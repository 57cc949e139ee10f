public import PCastMedia

/// What somebody with a token wants to do.
public struct TokenRequest: Hashable, Sendable {
    public enum Purpose: Hashable, Sendable {
        /// Begin or resume a session.
        case authenticate
        case publish
        /// View a stream, which carries these tags.
        case subscribe(originStreamID: String, tags: [String])
    }

    public var purpose: Purpose
    /// The session that asks, or that is to be resumed; nil for a new one.
    public var sessionID: String?
    /// Where the request comes from; nil where that is not known, which satisfies no restriction.
    public var remoteAddress: IPAddress?
    /// Capabilities that the stream is to have.
    public var capabilities: [String]

    public init(
        _ purpose: Purpose, sessionID: String? = nil, remoteAddress: IPAddress? = nil, capabilities: [String] = []
    ) {
        self.purpose = purpose
        self.sessionID = sessionID
        self.remoteAddress = remoteAddress
        self.capabilities = capabilities
    }
}
