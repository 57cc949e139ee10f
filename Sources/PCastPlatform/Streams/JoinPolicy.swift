import PCastCore
import PCastEdgeAuth
import PCastIO

/// Decides whether a client may publish, subscribe or resume. A client needs a token that permits it, and the rate of
/// joins, the quotas and the bit rate must have room for it.
struct JoinPolicy {
    let authenticator: TokenAuthenticator
    private let limiter: RequestLimiter
    /// The shares of the bit rate.
    private var shares = BitrateShares()

    init(authenticator: TokenAuthenticator, limiter: RequestLimiter) {
        self.authenticator = authenticator
        self.limiter = limiter
    }

    // MARK: Tokens

    /// Checks that a client's token permits publishing.
    ///
    /// - Throws: ``APIError``.
    func authorizePublishing(_ principal: Principal, _ clientContext: ClientContext) throws(APIError) {
        try authenticator.authorize(principal, for: .publish, clientContext: clientContext)
    }

    /// Checks that a client's token permits subscribing to a stream with tags.
    ///
    /// - Throws: ``APIError``.
    func authorize(
        _ principal: Principal, _ clientContext: ClientContext, origin: String, tags: [String]
    ) throws(APIError) {
        try authenticator.authorize(
            principal, for: .subscribe(originStreamID: origin, tags: tags), clientContext: clientContext)
    }

    /// Returns the stream that a subscriber may receive: the requested one, the one that the token requires, the newest
    /// one with the required tag, or the newest one. If the request names a channel, it is the channel's own stream, or else
    /// the first stream of its presenters that is available.
    ///
    /// - Throws: ``APIError``.
    func find(
        _ origin: StreamID?, of channel: PresentedChannel? = nil, in registry: StreamRegistry, for principal: Principal,
        clientContext: ClientContext, prefersOwn: Bool = false
    ) throws(APIError) -> LiveStream {
        if let channel, let named = principal.origin(requested: origin) {
            if let own = channel.stream.flatMap({ registry.streams[$0] }), registry.isAvailable(own),
                permits(channel, named, principal, clientContext)
            {
                return own
            }
            let stream = channel.streams.lazy.compactMap { registry.streams[$0] }.first {
                $0.application == principal.application && registry.isAvailable($0)
            }
            try authorize(
                principal, clientContext, origin: named.description,
                tags: channel.tags + (stream?.authorizingTags ?? []))
            guard let stream else { throw .noStream }
            return stream
        }
        guard let named = principal.origin(requested: origin) else {
            let tag = principal.token?.requiredTag
            guard let newest = registry.newestSubscribable(.subscribable(principal.application, tag: tag)) else {
                try authorize(principal, clientContext, origin: "", tags: tag.map { [$0] } ?? [])
                throw .noStream
            }
            try authorize(principal, clientContext, origin: newest.id.description, tags: newest.authorizingTags)
            return newest
        }
        let id = prefersOwn ? registry.resolveOwn(named) : registry.resolve(named)
        let stream = registry.streams[id].flatMap { stream in
            stream.application == principal.application && registry.isAvailable(stream) ? stream : nil
        }
        try authorize(
            principal, clientContext, origin: named.description,
            tags: stream?.authorizingTags ?? (principal.token?.requiredTag.map { [$0] } ?? []))
        guard let stream else { throw .noStream }
        return stream
    }

    /// Returns whether a client may view whoever presents in a channel. A token that requires the tag of a presenter's
    /// stream permits viewing that one only.
    func permits(
        _ channel: PresentedChannel, _ requested: StreamID, _ principal: Principal, _ clientContext: ClientContext
    ) -> Bool {
        guard channel.application == principal.application else { return false }
        do throws(APIError) {
            try authorize(principal, clientContext, origin: requested.description, tags: channel.tags)
            return true
        } catch {
            return false
        }
    }

    /// Checks that a publisher may resume a stream. Returns true for the session of the stream, whose token need not be
    /// valid any more. Others need the token of the same owner.
    ///
    /// - Throws: ``APIError``.
    func authorizeResuming(
        _ stream: LiveStream, _ principal: Principal, _ clientContext: ClientContext
    ) throws(APIError) -> Bool {
        if let session = clientContext.sessionID, stream.session == session { return true }
        guard let publisher = stream.publisher, publisher == principal.publisher else {
            throw .token("the stream belongs to another publisher")
        }
        try authorizePublishing(principal, clientContext)
        return false
    }

    // MARK: Quotas

    /// Counts a new stream or viewing. A job does not count, because the client that started it already did.
    ///
    /// - Throws: ``APIError``.
    func takeJoin(_ principal: Principal, _ clientContext: ClientContext) throws(APIError) {
        guard principal.job == nil else { return }
        try limiter.takeJoin(from: clientContext.address, at: MonotonicClock.now())
    }

    /// Returns the reservation of a new stream or viewing, or `former` if a resumed one has the same address. The token may
    /// have been revoked since the client was authenticated.
    ///
    /// - Throws: ``APIError``.
    func reserve(
        _ kind: QuotaReservation.Kind, after former: QuotaReservation? = nil, _ principal: Principal,
        _ clientContext: ClientContext
    ) throws(APIError) -> QuotaReservation {
        try authenticator.checkRevocation(of: principal)
        if let former, former.block == AddressBlock(clientContext.address) { return former }
        let address = principal.job.map(\.address) ?? clientContext.address
        return try limiter.reserve(kind, of: principal.application, from: address)
    }

    // MARK: Bit rate

    /// Checks that there is a share of the bit rate for another publisher.
    ///
    /// - Throws: ``APIError`` with the kind `capacity`.
    func checkBitrate(for application: ApplicationID, _ reservation: QuotaReservation) throws(APIError) {
        guard let limit = shares.exceeded(application, reservation.block, in: limiter.limits) else { return }
        limiter.noteNoBitrate(limit)
        throw .noBitrate
    }

    /// Adds a publisher among which the bit rate is divided. `limit` is that of its stream key; nil for none.
    mutating func enter(_ stream: LiveStream, _ reservation: QuotaReservation, limit: Bitrate? = nil) {
        shares.enter(stream.id, stream.application, reservation.block, limit: limit)
    }

    /// Removes a publisher.
    mutating func leave(_ stream: StreamID) { shares.leave(stream) }

    /// Returns the shares of the bit rate that have changed since the last call; nil for a stream without a limit.
    mutating func takeShares() -> [StreamID: Bitrate?] { shares.changes(by: limiter.limits) }
}

extension Principal {
    /// Returns the stream that a client names, or that its token requires; nil if there is neither.
    func origin(requested: StreamID?) -> StreamID? { requested ?? token?.originStreamID.map { StreamID($0) } }

    /// Whether a client's session owns the stream. The platform's own jobs give the reason of an end before they close
    /// the stream.
    func hasSession(_ clientContext: ClientContext) -> Bool { job == nil && clientContext.sessionID != nil }
}
