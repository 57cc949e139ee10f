public import PCastCore

/// Checks a request against all restrictions of a token.
///
/// This is the only place where the platform does so.
public struct TokenAuthorization: Hashable, Sendable {
    /// The verified token.
    public let token: EdgeToken

    /// Creates a value from a token that was verified.
    public init(_ token: EdgeToken) { self.token = token }

    /// Creates a value from a verification. Returns nil unless the token was verified and all its fields are valid.
    public init?(_ verification: DigestTokenVerification) {
        guard let token = verification.token else { return nil }
        self.init(token)
    }

    /// Checks whether the token allows a request.
    ///
    /// Strings are compared byte by byte and addresses by value. The origin stream and the required tag restrict
    /// subscribing only, and capabilities restrict publishing and subscribing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - now: The current time.
    /// - Throws: The first restriction that forbids the request.
    public func authorize(_ request: TokenRequest, at now: WallTime) throws(TokenRejection) {
        guard now < token.expires else { throw .expired(at: token.expires) }
        guard isForPurpose(request.purpose) else { throw .wrongType }
        guard allowsSession(request.sessionID) else { throw .wrongSession }
        guard allowsRemoteAddress(request.remoteAddress) else { throw .wrongRemoteAddress }
        switch request.purpose {
        case .authenticate: return
        case .publish: break
        case .subscribe(let originStreamID, let tags): try authorizeOrigin(originStreamID, tags)
        }
        for capability in request.capabilities where !grants(capability, for: request.purpose) {
            throw .missingCapability(capability)
        }
    }

    /// Returns whether the kind of the token allows a purpose. A token without a kind allows authenticating and
    /// subscribing.
    private func isForPurpose(_ purpose: TokenRequest.Purpose) -> Bool {
        switch (token.kind, purpose) {
        case (nil, .authenticate), (nil, .subscribe): true
        case (.authentication, .authenticate), (.streaming, .subscribe), (.publishing, .publish): true
        default: false
        }
    }

    /// Returns whether the token allows a session. A request without a session does not satisfy a restriction.
    private func allowsSession(_ sessionID: String?) -> Bool {
        guard let only = token.sessionID else { return true }
        return sessionID.map { $0.isSameBytes(as: only) } ?? false
    }

    /// Returns whether the token allows an address. An unknown address does not satisfy a restriction.
    private func allowsRemoteAddress(_ address: IPAddress?) -> Bool {
        guard let only = token.remoteAddress else { return true }
        guard let address, let only = IPAddress(only) else { return false }
        return address == only
    }

    private func authorizeOrigin(_ originStreamID: String, _ tags: [String]) throws(TokenRejection) {
        if let only = token.originStreamID, !only.isSameBytes(as: originStreamID) { throw .wrongOriginStream }
        if let tag = token.requiredTag, !tags.contains(where: { $0.isSameBytes(as: tag) }) { throw .missingTag(tag) }
    }

    /// Returns whether the token grants a capability for a purpose.
    private func grants(_ capability: String, for purpose: TokenRequest.Purpose) -> Bool {
        token.capabilities.contains { $0.isSameBytes(as: capability) }
            || capability == Self.realTime && grantsRealTime(for: purpose)
    }

    private static let realTime = "real-time"
    /// The capabilities that select a delivery other than real time.
    private static let otherDeliveries: Set = ["streaming", "on-demand", "rtmp"]

    /// Returns whether real-time delivery is implied, which it is for each publisher, and for a subscriber whose token
    /// names no other delivery.
    private func grantsRealTime(for purpose: TokenRequest.Purpose) -> Bool {
        purpose == .publish || Self.otherDeliveries.isDisjoint(with: token.capabilities)
    }
}

extension String {
    /// Returns whether two strings have the same UTF-8 bytes. Unlike `==`, it distinguishes canonically equivalent
    /// strings.
    fileprivate func isSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

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

extension TokenRejection: CustomStringConvertible {
    /// The restriction in words, without the token.
    public var description: String {
        switch self {
        case .expired(let time): "the token expired at \(time.millisecondsSinceEpoch) ms since 1970"
        case .wrongType: "the token's type does not permit this kind of request"
        case .wrongSession: "the token is for another session"
        case .wrongRemoteAddress: "the token is for another remote address"
        case .wrongOriginStream: "the token is for another origin stream"
        case .missingTag(let tag): "the stream does not have the token's required tag “\(tag)”"
        case .missingCapability(let capability): "the token does not have the capability “\(capability)”"
        }
    }
}

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
