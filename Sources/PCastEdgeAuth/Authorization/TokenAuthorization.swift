public import PCastMedia

/// Enforces every restriction of a token; nothing else in the platform does.
public struct TokenAuthorization: Hashable, Sendable {
    public let token: EdgeToken

    /// - Parameter token: A verified one.
    public init(_ token: EdgeToken) { self.token = token }

    /// Nil unless the token was verified and can be understood.
    public init?(_ verification: DigestTokenVerification) {
        guard let token = verification.token else { return nil }
        self.init(token)
    }

    /// Returns if the token allows `request` now, else throws the first restriction that does not.
    ///
    /// Names are compared byte by byte, addresses by value. The origin stream and the required tag concern viewing
    /// alone, capabilities streams alone.
    public func authorize(_ request: TokenRequest, at now: WallTime) throws(TokenRefusal) {
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

    private func isForPurpose(_ purpose: TokenRequest.Purpose) -> Bool {
        switch (token.kind, purpose) {
        case (nil, .authenticate), (nil, .subscribe): true
        case (.authentication, .authenticate), (.streaming, .subscribe), (.publishing, .publish): true
        default: false
        }
    }

    private func allowsSession(_ sessionID: String?) -> Bool {
        guard let only = token.sessionID else { return true }
        return sessionID.map { $0.isSameBytes(as: only) } ?? false
    }

    private func allowsRemoteAddress(_ address: IPAddress?) -> Bool {
        guard let only = token.remoteAddress else { return true }
        guard let address, let only = IPAddress(only) else { return false }
        return address == only
    }

    private func authorizeOrigin(_ originStreamID: String, _ tags: [String]) throws(TokenRefusal) {
        if let only = token.originStreamID, !only.isSameBytes(as: originStreamID) { throw .wrongOriginStream }
        if let tag = token.requiredTag, !tags.contains(where: { $0.isSameBytes(as: tag) }) { throw .missingTag(tag) }
    }

    private func grants(_ capability: String, for purpose: TokenRequest.Purpose) -> Bool {
        token.capabilities.contains { $0.isSameBytes(as: capability) }
            || capability == Self.realTime && grantsRealTime(for: purpose)
    }

    private static let realTime = "real-time"
    private static let otherDeliveries: Set = ["streaming", "on-demand", "rtmp"]

    /// Every publisher is delivered in real time, and every viewer whose token names no other delivery.
    private func grantsRealTime(for purpose: TokenRequest.Purpose) -> Bool {
        purpose == .publish || Self.otherDeliveries.isDisjoint(with: token.capabilities)
    }
}

extension String {
    /// Unlike `==`, which takes canonically equivalent texts for equal.
    fileprivate func isSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
