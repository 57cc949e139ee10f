import Logging
import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastIO
import PCastSFU
import PCastWebRTC

/// All streams with their publishers and subscribers.
actor StreamDirectory {
    /// Receives each change of a participant's data quality.
    typealias QualityAction = @Sendable (StreamID, DataQuality) async -> Void

    struct Participant {
        let streamID: StreamID
        let origin: StreamID
        let isPublisher: Bool
        /// Whether this is a preview on the dashboard, which does not count as a viewing.
        let isPreview: Bool
        let onEnd: @Sendable (StreamEnd) async -> Void
        /// The reservation in the quotas.
        let reservation: QuotaReservation
        /// The session that may resume the viewing, and the function that notifies it; nil if nobody may.
        var reconnection: (session: SessionID, onInterruption: PendingReconnects.InterruptionAction)?
        /// Whether a client's session may give the reason of its end; see `noteClosed`.
        let hasSession: Bool
        /// Its media connection is closed, and the reason may still come.
        var isClosed = false
        /// Whether no packets arrive at the moment.
        var isAway = false
        /// The base of the answer to an ICE restart: the platform's answer, or its offer in the form of an answer.
        var answer: SessionDescription?
        /// The platform's offer that is not answered yet; nil if there is none.
        var offer: SessionDescription?
        let onQuality: QualityAction
        var quality = DataQuality.good
        var listeners: [Int: AsyncStream<StreamUpdate>.Continuation] = [:]
        /// Receives the captions of a viewing; nil if its client does not request them.
        var onCaptions: CaptionAction?
        let entered: Instant
        /// The reason given by the client or job that ended it intentionally.
        var ending: (reason: StreamEndedReason, description: String)?
    }

    let router: MediaRouter
    let authenticator: TokenAuthenticator
    let writeQueue: DatabaseWriteQueue
    let limiter: RequestLimiter
    let statistics: PlatformStatistics
    let logger: Logger
    /// `updateIndexes(of:)` is called after each change that the indexes depend on.
    var streams: [StreamID: LiveStream] = [:]
    /// The streams that a subscriber may receive.
    var subscribableStreams = StreamIndex()
    /// The streams that their publishers may resume.
    var resumableStreams = StreamIndex()
    var participants: [PeerID: Participant] = [:]
    var peers: [StreamID: PeerID] = [:]
    /// The subscribers of each stream, including previews. A stream without subscribers has no entry.
    private(set) var subscribers: [StreamID: Set<PeerID>] = [:]
    /// The numbers of subscribers, which are updated incrementally because there may be thousands.
    var viewing = SubscriberCounter()
    /// The shares of the bit rate.
    var shares = BitrateShares()
    private var nextPeer: UInt64 = 1
    var nextOrdinal = 0
    private var nextListener = 0
    /// The streams and viewings that may be resumed, the time for it, and the requests that wait for it.
    var pendingReconnects = PendingReconnects()
    let reconnectGrace: TimeSpan
    /// See `PlatformConfiguration.reasonTimeout`.
    let reasonTimeout: TimeSpan
    var waitingRequests: [StreamID: [Int: CheckedContinuation<Void, Never>]] = [:]
    var nextWaitingRequest = 0
    /// The streams that are being resumed.
    var resuming: Set<StreamID> = []
    /// Ends a stream of which only the job exists so far.
    private var endWaiting: (@Sendable (StreamID, ApplicationID?, StreamEndedReason, String) async -> Bool)?

    /// The maximum number of queued changes for a listener, and of listeners per participant.
    private static let qualityBacklog = 64
    private static let listenerLimit = 8

    init(
        router: MediaRouter, authenticator: TokenAuthenticator, writeQueue: DatabaseWriteQueue,
        reconnectGrace: TimeSpan = TimeSpan(PlatformConfiguration.defaultReturnTime),
        reasonTimeout: TimeSpan = .milliseconds(500), limiter: RequestLimiter,
        statistics: PlatformStatistics, logger: Logger
    ) {
        self.reconnectGrace = reconnectGrace
        self.reasonTimeout = reasonTimeout
        self.router = router
        self.authenticator = authenticator
        self.writeQueue = writeQueue
        self.limiter = limiter
        self.statistics = statistics
        self.logger = logger
    }

    /// Sets the function that ends streams that are not published yet.
    func endsWaiting(
        _ end: @escaping @Sendable (StreamID, ApplicationID?, StreamEndedReason, _ description: String) async -> Bool
    ) { endWaiting = end }

    // MARK: Joining

    /// Adds a publisher.
    ///
    /// The start of the stream and the notification of the application's backend are in the database when this function
    /// returns. If the platform makes the offer, they are in the database when `accept` returns.
    ///
    /// - Parameters:
    ///   - principal: The authenticated client.
    ///   - clientContext: The client of the request.
    ///   - offer: The client's offer; nil for an offer of the platform, which `accept` completes.
    ///   - tags: The tags that the client requests.
    ///   - options: The client's options for the stream.
    ///   - resumeRequest: The stream to resume; nil for a new one.
    ///   - onEnd: Called once when the stream has ended.
    ///   - onQuality: Called at each change of the data quality.
    /// - Returns: The stream, with an answer or an offer.
    /// - Throws: ``APIError``.
    func publish(
        _ principal: Principal, clientContext: ClientContext, offer: SessionDescription?, tags: [String],
        options: [String] = [],
        resuming resumeRequest: ResumeRequest? = nil,
        onEnd: @escaping @Sendable (StreamEnd) async -> Void,
        onQuality: @escaping QualityAction = { _, _ in }
    ) async throws(APIError) -> PeerSession {
        if let resumeRequest {
            let offer = try Self.offer(ofResuming: offer)
            let capabilities = try StreamCapabilities(principal.capabilities, options: options, for: .publish)
            try takeJoin(principal, clientContext)
            if let former = try await resume(resumeRequest, principal, clientContext, tags: tags) {
                return try await resumePublishing(
                    of: former, principal, clientContext, offer, capabilities, onEnd: onEnd, onQuality: onQuality)
            }
        }
        try authenticator.authorize(principal, for: .publish, clientContext: clientContext)
        let capabilities = try StreamCapabilities(principal.capabilities, options: options, for: .publish)
        if resumeRequest == nil { try takeJoin(principal, clientContext) }
        let reservation = try reserve(.stream, principal, clientContext)
        try checkBitrate(for: principal.application, reservation)
        let id = principal.job?.stream ?? StreamID(RandomIdentifier.make(prefix: "stream-"))
        guard peers[id] == nil else { throw APIError(.conflict, "The stream already exists.") }
        let peer = enter(
            id, reservation, origin: id, isPublisher: true, hasSession: principal.hasSession(clientContext),
            onEnd: onEnd,
            onQuality: onQuality)
        var stream = LiveStream(
            id: id, peer: peer, application: principal.application,
            session: principal.job?.session ?? clientContext.sessionID,
            tags: StreamTags(own: principal.job?.tags ?? tags, principal), capabilities: principal.capabilities,
            startTime: MonotonicClock.wallTime(), address: principal.job == nil ? clientContext.address : nil,
            ordinal: nextOrdinal,
            publisher: principal.publisher)
        stream.isAwaitingAnswer = offer == nil
        streams[id] = stream
        updateIndexes(of: id)
        shares.enter(id, principal.application, reservation.block)
        nextOrdinal += 1
        writeQueue.note(.streamStarting(stream.record))
        do {
            var description = try await router.publish(peer, stream: id, offer: offer, terms: capabilities.terms)
            if principal.job != nil { router.addOwnCandidates(to: &description) }
            note(description, isOffer: offer == nil, of: peer)
            if offer != nil { await noteStart(of: id) }
            statistics.streamStarted(principal.application)
            shareBitrate()
            logger.info(
                "publisher admitted",
                metadata: Self.metadata(["stream": "\(id)", "application": "\(principal.application)"], clientContext))
            warn(of: capabilities, stream: id)
            return PeerSession(
                peer: peer, streamID: id, isPublisher: true, description: description,
                ignoredCapabilities: capabilities.reportedNames)
        } catch {
            discard(peer)
            writeQueue.note(Self.change(stream, StreamEnd(streamID: id, reason: .failed, description: "")))
            throw Self.refusal(error)
        }
    }

    /// Adds a subscriber.
    ///
    /// - Parameters:
    ///   - principal: The authenticated client.
    ///   - clientContext: The client of the request.
    ///   - origin: The requested stream; nil for the one that the token requires, or else the newest. The request waits
    ///     for a publisher that may reconnect.
    ///   - offer: The client's offer; nil for an offer of the platform, which `accept` completes.
    ///   - options: The client's options for the stream.
    ///   - resumedID: The viewing to resume; nil for a new one.
    ///   - isPreview: Whether it is a preview on the dashboard, which does not count.
    ///   - onEnd: Called once when the viewing has ended.
    ///   - onQuality: Called at each change of the data quality.
    ///   - onInterruption: Called when the media connection is lost and may be re-established; nil if the client cannot
    ///     do so.
    /// - Returns: The viewing, with an answer or an offer.
    /// - Throws: ``APIError``.
    func view(
        _ principal: Principal, clientContext: ClientContext, origin: StreamID?, offer: SessionDescription?,
        options: [String] = [],
        resuming resumedID: StreamID? = nil, isPreview: Bool = false,
        onEnd: @escaping @Sendable (StreamEnd) async -> Void,
        onQuality: @escaping QualityAction = { _, _ in },
        onInterruption: PendingReconnects.InterruptionAction? = nil
    ) async throws(APIError) -> PeerSession {
        if let resumedID {
            return try await resumeViewing(
                resumedID, principal, clientContext, Self.offer(ofResuming: offer),
                StreamCapabilities(principal.capabilities, options: options, for: .view), onEnd: onEnd,
                onQuality: onQuality, onInterruption: onInterruption)
        }
        try await waitForRequestedStream(of: origin, for: principal, clientContext)
        let stream = try find(origin, for: principal, clientContext: clientContext)
        let capabilities = try StreamCapabilities(principal.capabilities, options: options, for: .view)
        if !isPreview { try takeJoin(principal, clientContext) }
        let reservation = try reserve(isPreview ? .preview : .viewer, principal, clientContext)
        let id = principal.job?.stream ?? StreamID(RandomIdentifier.make(prefix: "view-"))
        guard peers[id] == nil else { throw APIError(.conflict, "The stream already exists.") }
        let peer = enter(
            id, reservation, origin: stream.id, isPublisher: false, isPreview: isPreview,
            hasSession: principal.hasSession(clientContext), onEnd: onEnd, onQuality: onQuality)
        setReconnection(peer, in: clientContext.sessionID, onInterruption)
        do {
            var terms = capabilities.terms
            terms.isCounted = !isPreview
            var description = try await router.view(peer, stream: stream.id, offer: offer, terms: terms)
            if principal.job != nil { router.addOwnCandidates(to: &description) }
            note(description, isOffer: offer == nil, of: peer)
            if !isPreview { noteView(id, of: stream.id, principal, clientContext) }
            logger.info(
                "viewer admitted", metadata: Self.metadata(["stream": "\(stream.id)", "view": "\(id)"], clientContext))
            warn(of: capabilities, stream: id)
            return PeerSession(
                peer: peer, streamID: id, isPublisher: false, description: description,
                ignoredCapabilities: capabilities.reportedNames)
        } catch {
            discard(peer)
            throw Self.refusal(error)
        }
    }

    private static func metadata(_ metadata: Logger.Metadata, _ clientContext: ClientContext) -> Logger.Metadata {
        guard let session = clientContext.sessionID else { return metadata }
        return metadata.merging(["session": "\(session)"]) { $1 }
    }

    /// Returns the stream that a subscriber may receive: the requested one, the one that the token requires, the newest
    /// one with the required tag, or the newest one.
    ///
    /// - Throws: ``APIError``.
    func find(_ origin: StreamID?, for principal: Principal, clientContext: ClientContext) throws(APIError)
        -> LiveStream
    {
        let named = origin ?? principal.token?.originStreamID.map { StreamID($0) }
        guard let named else {
            let tag = principal.token?.requiredTag
            let id = subscribableStreams.newest(.subscribable(principal.application, tag: tag))
            guard let newest = id.flatMap({ streams[$0] }) else {
                try authorize(principal, clientContext, origin: "", tags: tag.map { [$0] } ?? [])
                throw .noStream
            }
            try authorize(principal, clientContext, origin: newest.id.description, tags: newest.authorizingTags)
            return newest
        }
        let stream = streams[named].flatMap { stream in
            stream.application == principal.application && !stream.isAwaitingAnswer && !isClosed(stream)
                ? stream : nil
        }
        try authorize(
            principal, clientContext, origin: named.description,
            tags: stream?.authorizingTags ?? (principal.token?.requiredTag.map { [$0] } ?? []))
        guard let stream else { throw .noStream }
        return stream
    }

    private func note(_ description: SessionDescription, isOffer: Bool, of peer: PeerID) {
        if isOffer { participants[peer]?.offer = description } else { note(answer: description, of: peer) }
    }

    func note(answer: SessionDescription, of peer: PeerID) {
        guard let participant = participants[peer] else { return }
        participants[peer]?.answer = answer
        guard participant.isPublisher else { return }
        streams[participant.streamID]?.codecs = answer.media
            .filter { !$0.isRejected && $0.direction != .inactive }.compactMap { $0.payloadFormats.first?.codec }
            .sorted { $0.mediaType == .video && $1.mediaType == .audio }
    }

    private func noteStart(of id: StreamID) async {
        await writeQueue.commit(.streamStarted(id, at: MonotonicClock.wallTime()))
    }

    /// Logs the capabilities without effect.
    private func warn(of capabilities: StreamCapabilities, stream id: StreamID) {
        guard !capabilities.reportedNames.isEmpty else { return }
        logger.warning(
            "capabilities without effect",
            metadata: ["stream": "\(id)", "capabilities": "\(capabilities.reportedNames.joined(separator: " "))"])
    }

    /// Completes a negotiation with the answer to an offer of the platform. An invalid answer changes nothing. Returns
    /// the negotiated media.
    ///
    /// - Throws: ``APIError``.
    func accept(_ answer: SessionDescription, of id: StreamID) async throws(APIError) -> NegotiatedSession {
        guard let peer = peers[id], let offer = participants[peer]?.offer else { throw Self.refusal(.noOffer) }
        let session: NegotiatedSession
        do {
            session = try await router.accept(answer, from: peer)
        } catch {
            throw Self.refusal(error)
        }
        participants[peer]?.offer = nil
        note(answer: offer.asAnswer(of: session), of: peer)
        if streams[id] != nil {
            await noteStart(of: id)
            streams[id]?.isAwaitingAnswer = false
            updateIndexes(of: id)
        }
        logger.info("the platform's offer was answered", metadata: ["stream": "\(id)"])
        return session
    }

    private func noteView(_ id: StreamID, of stream: StreamID, _ principal: Principal, _ clientContext: ClientContext) {
        statistics.viewBegan(principal.application)
        if var counts = streams[stream]?.counts {
            counts.views += 1
            counts.mostViewers = max(counts.mostViewers, viewers(of: stream))
            streams[stream]?.counts = counts
        }
        writeQueue.note(
            .viewingBegan(
                ViewingRecord(
                    id: id, stream: stream, application: principal.application, session: clientContext.sessionID,
                    tags: principal.tags, began: MonotonicClock.wallTime())))
    }

    func authorize(
        _ principal: Principal, _ clientContext: ClientContext, origin: String, tags: [String]
    ) throws(APIError) {
        try authenticator.authorize(
            principal, for: .subscribe(originStreamID: origin, tags: tags), clientContext: clientContext)
    }

    func enter(
        _ id: StreamID, _ reservation: QuotaReservation, origin: StreamID, isPublisher: Bool, isPreview: Bool = false,
        hasSession: Bool = false, onEnd: @escaping @Sendable (StreamEnd) async -> Void,
        onQuality: @escaping QualityAction
    ) -> PeerID {
        let peer = PeerID(nextPeer)
        nextPeer += 1
        participants[peer] = Participant(
            streamID: id, origin: origin, isPublisher: isPublisher, isPreview: isPreview, onEnd: onEnd,
            reservation: reservation,
            hasSession: hasSession, onQuality: onQuality, entered: MonotonicClock.now())
        peers[id] = peer
        if !isPublisher { subscribers[origin, default: []].insert(peer) }
        if !isPublisher, !isPreview { viewing.enter(origin) }
        return peer
    }

    func discard(_ peer: PeerID) {
        guard let participant = participants.removeValue(forKey: peer) else { return }
        peers[participant.streamID] = nil
        if !participant.isPublisher {
            subscribers[participant.origin]?.remove(peer)
            if subscribers[participant.origin]?.isEmpty == true { subscribers[participant.origin] = nil }
        }
        if participant.isViewer { viewing.leave(participant.origin) }
        for listener in participant.listeners.values { listener.finish() }
        guard participant.isPublisher else { return }
        removeFromIndexes(participant.streamID)
        streams[participant.streamID] = nil
        shares.leave(participant.streamID)
        shareBitrate()
    }

    func noteShare(of stream: LiveStream, _ reservation: QuotaReservation) {
        shares.enter(stream.id, stream.application, reservation.block)
        shareBitrate()
    }

    /// Sends each publisher its share of the bit rate. The shares change when a publisher joins or leaves, and when
    /// limits change.
    func shareBitrate() {
        for (id, share) in shares.changes(by: limiter.limits) {
            if let peer = streams[id]?.peer { router.limit(peer, to: share) }
        }
    }

    // MARK: Ending

    /// Ends a stream or viewing with a reason. Returns false if there is none with that identifier. Only the first
    /// reason is used.
    ///
    /// The reason of a stream's end is on the disk when this function returns. Therefore clients receive the same
    /// reason after a crash.
    @discardableResult
    func end(
        _ id: StreamID, of application: ApplicationID? = nil, reason: StreamEndedReason, description: String
    ) async -> Bool {
        guard let peer = peers[id], participants[peer] != nil else {
            if await endPending(id, of: application, reason: reason, description: description) { return true }
            return await endWaiting?(id, application, reason, description) ?? false
        }
        if let application, streams[id]?.application != application { return false }
        let end = participants[peer]?.ending ?? (reason, description)
        participants[peer]?.ending = end
        if let stream = streams[id], !stream.isEndRecorded {
            streams[id]?.isEndRecorded = true
            updateIndexes(of: id)
            await writeQueue.commit(
                Self.change(stream, StreamEnd(streamID: id, reason: end.reason, description: end.description)))
        }
        for viewer in subscribers[id] ?? [] where participants[viewer]?.ending == nil {
            participants[viewer]?.ending = end
        }
        await noteClosed(of: id)
        await router.end(peer, reason: end.reason)
        return true
    }

    /// Ends all streams. The SFU reports each end.
    func endAll(reason: StreamEndedReason) async {
        for stream in Array(streams.keys) + pendingReconnects.streams.keys {
            await end(stream, reason: reason, description: reason.rawValue)
        }
    }

    /// Processes the events of the SFU until it stops.
    func follow(_ events: AsyncStream<SFUEvent>) async {
        for await event in events {
            switch event {
            case .mediaStarted(let peer): noteMedia(peer)
            case .ended(let peer, let reason):
                router.discard(peer)
                await noteClosed(peer, reason)
            case .connected(let peer, let profile):
                noteConnected(peer)
                logger.debug("secure transport connected", metadata: ["peer": "\(peer.value)", "srtp": "\(profile)"])
            case .away(let peer):
                participants[peer]?.isAway = true
                logger.info("no packets for 5 s", metadata: ["peer": "\(peer.value)"])
            case .back(let peer):
                participants[peer]?.isAway = false
                logger.info("packets arrive again", metadata: ["peer": "\(peer.value)"])
            case .dataQuality(let peer, let quality): await noteQuality(peer, quality)
            case .closeConnection: preconditionFailure("the router must close connections itself")
            }
        }
    }

    private func noteConnected(_ peer: PeerID) {
        guard let participant = participants[peer] else { return }
        statistics.joined(isPublisher: participant.isPublisher, after: MonotonicClock.now() - participant.entered)
    }

    private func noteMedia(_ peer: PeerID) {
        guard let participant = participants[peer] else { return }
        streams[participant.streamID]?.hasMedia = true
        logger.info("first media packet", metadata: ["stream": "\(participant.streamID)"])
    }

    private func noteQuality(_ peer: PeerID, _ quality: DataQuality) async {
        guard let participant = participants[peer] else { return }
        participants[peer]?.quality = quality
        logger.info(
            "data quality",
            metadata: [
                "stream": "\(participant.streamID)", "status": "\(quality.status.rawValue)",
                "reason": "\(quality.reason.rawValue)",
            ])
        for listener in participant.listeners.values { listener.yield(.quality(quality)) }
        await participant.onQuality(participant.streamID, quality)
    }

    /// Returns the events of a participant: its current data quality, each change of it, the captions of a viewing, and
    /// its end. A slow reader misses the oldest events.
    func updates(of peer: PeerID) -> AsyncStream<StreamUpdate> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: StreamUpdate.self, bufferingPolicy: .bufferingNewest(Self.qualityBacklog))
        guard let participant = participants[peer], participant.listeners.count < Self.listenerLimit else {
            continuation.finish()
            return stream
        }
        nextListener += 1
        let number = nextListener
        participants[peer]?.listeners[number] = continuation
        continuation.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.removeListener(number, of: peer) }
        }
        continuation.yield(.quality(participant.quality))
        if !participant.isPublisher {
            let captions = currentCaptions(of: participant.origin)
            if !captions.isEmpty { continuation.yield(.captions(captions)) }
        }
        return stream
    }

    private func removeListener(_ number: Int, of peer: PeerID) { participants[peer]?.listeners[number] = nil }

    func noteEnd(_ peer: PeerID, _ reason: StreamEndedReason) async {
        guard let participant = participants[peer] else { return }
        let stream = streams[participant.streamID]
        let end = StreamEnd(
            streamID: participant.streamID, reason: participant.ending?.reason ?? reason,
            description: participant.ending?.description ?? "")
        for listener in participant.listeners.values { listener.yield(.ended(end)) }
        discard(peer)
        if let stream {
            if !stream.isEndRecorded { writeQueue.note(Self.change(stream, end)) }
            statistics.streamEnded(stream.application, end.reason)
        } else if !participant.isPreview {
            writeQueue.note(.viewingEnded(end.streamID, at: MonotonicClock.wallTime(), reason: end.wire))
        }
        logger.info("stream ended", metadata: ["stream": "\(participant.streamID)", "reason": "\(end.wire)"])
        if stream != nil { await endPendingViewings(of: end.streamID, end.reason, end.description) }
        await participant.onEnd(end)
    }

    private static func change(_ stream: LiveStream, _ end: StreamEnd) -> RecordChange {
        .streamEnded(stream.id, at: MonotonicClock.wallTime(), reason: end.wire, counts: stream.counts)
    }
}
