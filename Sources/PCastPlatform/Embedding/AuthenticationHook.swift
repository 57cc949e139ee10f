public import PCastCore

/// The host's own decision about a client, which EdgeAuth has accepted before. It is called for each request to open a
/// session, to publish, to subscribe, and to use a timeline. Several calls may run at the same time, and a request waits
/// for its call.
///
/// It is not called for the REST interface and the dashboard, whose clients have the application's secret.
public typealias AuthenticationHook = @Sendable (AuthenticationRequest) async -> AuthenticationDecision

/// The result of an ``AuthenticationHook``.
public enum AuthenticationDecision: Hashable, Sendable {
    /// The client may do what it requests.
    case permit
    /// The client receives the status “unauthorized” with this message, which is one sentence for its user.
    case reject(_ message: String)
}

/// A request of a client that EdgeAuth has accepted.
public struct AuthenticationRequest: Hashable, Sendable {
    /// The operation that the client requests.
    public enum Purpose: Hashable, Sendable {
        /// Opening a session of the PCast protocol. Publishing and subscribing are separate requests.
        case openSession
        /// Publishing a stream.
        case publish
        /// Subscribing to the stream with this identifier.
        case subscribe(StreamID)
        /// Writing the timeline of a game.
        case writeTimeline(league: String, game: String)
        /// Reading the timeline of a game.
        case readTimeline(league: String, game: String)
    }

    /// The requested operation.
    public let purpose: Purpose
    /// The application of the client's token, or the first application for a client without a token.
    public let application: ApplicationID
    /// The tags that the client's token applies, in the order of the token.
    public let tags: [String]
    /// The capabilities of the client's token, in the order of the token.
    public let capabilities: [String]
    /// Whether the client has a token. A client of the same host needs none if the platform listens on loopback.
    public let hasToken: Bool
    /// The client's address, behind a trusted proxy that of the client of the proxy; nil if the connection is closed.
    public let address: IPAddress?
    /// The client's session of the PCast protocol; nil for a new session, WHIP, WHEP and timelines.
    public let session: SessionID?

    /// Creates a request, for tests of a hook.
    public init(
        purpose: Purpose, application: ApplicationID, tags: [String] = [], capabilities: [String] = [],
        hasToken: Bool = true, address: IPAddress? = nil, session: SessionID? = nil
    ) {
        self.purpose = purpose
        self.application = application
        self.tags = tags
        self.capabilities = capabilities
        self.hasToken = hasToken
        self.address = address
        self.session = session
    }
}

extension AuthenticationRequest {
    init(_ purpose: Purpose, _ principal: Principal, _ clientContext: ClientContext) {
        self.init(
            purpose: purpose, application: principal.application, tags: principal.tags,
            capabilities: principal.capabilities, hasToken: principal.token != nil, address: clientContext.address,
            session: clientContext.sessionID)
    }
}
