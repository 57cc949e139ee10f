import Logging
import PCastCluster
import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastIO
import PCastSFU
import PCastWebRTC
import Tracing

/// All streams with their publishers and subscribers.
///
/// It connects the parts that have the state and make the decisions with the SFU, the database and the clients:
/// ``StreamRegistry`` (who publishes and receives what), ``JoinPolicy`` (who may) and ``PendingReconnects`` (who may
/// resume).
actor StreamDirectory {
    /// Receives each change of a participant's data quality.
    typealias QualityAction = @Sendable (StreamID, DataQuality) async -> Void

    let router: MediaRouter
    let writeQueue: DatabaseWriteQueue
    let statistics: PlatformStatistics
    /// Packages streams for HLS; nil for none.
    let packaging: PackagingService?
    /// Makes renditions of streams; nil for none.
    let renditions: RenditionService?
    /// The events for the host.
    let events: StreamEventHub
    private let tracer: any Tracer
    let logger: Logger
    /// The streams that a client may request, for decisions that must not wait.
    nonisolated let available = AvailableStreams()
    /// Finds streams of other nodes; nil for a platform without a cluster.
    nonisolated let otherNodes = Setting<(any StreamLookup)?>(nil)
    var registry: StreamRegistry
    var policy: JoinPolicy
    var pendingReconnects = PendingReconnects()
    /// The second codecs that viewers need now, by their streams.
    var secondCodecs: [StreamID: SecondCodecRequest] = [:]
    let secondCodecStreams: SecondCodecStreams
    /// See `PlatformConfiguration.secondCodecTimeout`.
    let secondCodecTimeout: TimeSpan
    let reconnectGrace: TimeSpan
    /// See `PlatformConfiguration.reasonTimeout`.
    let reasonTimeout: TimeSpan
    /// The declared streams; nil until the platform has started. They retain the directory.
    private(set) weak var names: NamedStreamService?
    /// The streams of channels; nil until the platform has started. They retain the directory.
    private(set) weak var channels: ChannelStreamService?
    /// Pulls streams from other nodes; nil for none. It retains the directory.
    private(set) weak var edges: EdgeService?
    /// Ends a stream of which only the job exists so far.
    private var endWaiting: (@Sendable (StreamID, ApplicationID?, StreamEndedReason, String) async -> Bool)?

    /// The maximum number of queued changes for a listener.
    private static let qualityBacklog = 64

    init(
        router: MediaRouter, authenticator: TokenAuthenticator, writeQueue: DatabaseWriteQueue,
        reconnectGrace: TimeSpan = TimeSpan(PlatformConfiguration.defaultReconnectGrace),
        reasonTimeout: TimeSpan = .milliseconds(500), limiter: RequestLimiter,
        statistics: PlatformStatistics, packaging: PackagingService? = nil, renditions: RenditionService? = nil,
        secondCodecStreams: SecondCodecStreams = .off, secondCodecTimeout: TimeSpan = .seconds(5 as Int64),
        events: StreamEventHub = StreamEventHub(), tracer: any Tracer = NoOpTracer(), logger: Logger
    ) {
        self.reconnectGrace = reconnectGrace
        self.reasonTimeout = reasonTimeout
        self.router = router
        self.writeQueue = writeQueue
        policy = JoinPolicy(authenticator: authenticator, limiter: limiter)
        self.statistics = statistics
        self.packaging = packaging
        self.renditions = renditions
        self.secondCodecStreams = secondCodecStreams
        self.secondCodecTimeout = secondCodecTimeout
        self.events = events
        self.tracer = tracer
        self.logger = logger
        registry = StreamRegistry(available: available)
    }

    /// Sets the function that ends streams that are not published yet.
    func endsWaiting(
        _ end: @escaping @Sendable (StreamID, ApplicationID?, StreamEndedReason, _ description: String) async -> Bool
    ) { endWaiting = end }

    /// Sets the declared streams.
    func setNames(_ names: NamedStreamService) { self.names = names }

    /// Sets the streams of channels.
    func setChannels(_ channels: ChannelStreamService) { self.channels = channels }

    /// Sets what pulls streams from other nodes.
    func setEdges(_ edges: EdgeService) { self.edges = edges }

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
    ///   - secondCodec: Whether the publisher can be asked for a second codec, or sends one.
    ///   - onEnd: Called once when the stream has ended.
    ///   - onQuality: Called at each change of the data quality.
    /// - Returns: The stream, with an answer or an offer.
    /// - Throws: ``APIError``.
    func publish(
        _ principal: Principal, clientContext: ClientContext, offer: SessionDescription?, tags: [String],
        options: [String] = [],
        resuming resumeRequest: ResumeRequest? = nil, secondCodec: SecondCodecRole = .none,
        onEnd: @escaping @Sendable (StreamEnd) async -> Void,
        onQuality: @escaping QualityAction = { _, _ in }
    ) async throws(APIError) -> PeerSession {
        if let resumeRequest {
            let offer = try Self.offer(ofResuming: offer)
            let capabilities = try publishingCapabilities(principal.capabilities, options: options)
            try policy.takeJoin(principal, clientContext)
            try await policy.authenticator.checkHook(.publish, principal, clientContext)
            if let former = try await resume(resumeRequest, principal, clientContext, tags: tags) {
                return try await resumePublishing(
                    of: former, principal, clientContext, offer, capabilities, onEnd: onEnd, onQuality: onQuality)
            }
        }
        try policy.authorizePublishing(principal, clientContext)
        let capabilities = try publishingCapabilities(principal.capabilities, options: options)
        if resumeRequest == nil {
            try policy.takeJoin(principal, clientContext)
            try await policy.authenticator.checkHook(.publish, principal, clientContext)
        }
        let streamTags = StreamTags(own: principal.job?.tags ?? tags, principal)
        let isSecondCodec = try firstStream(of: secondCodec, principal) != nil
        let admission = isSecondCodec ? nil : try await admitToName(streamTags, principal)
        let reservation = try policy.reserve(.stream, principal, clientContext)
        try policy.checkBitrate(for: principal.application, reservation)
        let id = principal.job?.stream ?? StreamID(RandomIdentifier.make(prefix: "stream-"))
        guard registry.peers[id] == nil else { throw APIError(.conflict, "The stream already exists.") }
        let first = try firstStream(of: secondCodec, principal)
        let peer = registry.enter(
            id, reservation, origin: id, isPublisher: true, hasSession: principal.hasSession(clientContext),
            at: MonotonicClock.now(), onEnd: onEnd, onQuality: onQuality)
        registry.update(peer) { $0.revocationKey = principal.revocationKey }
        beginTrace(of: peer)
        var stream = LiveStream(
            id: id, peer: peer, application: principal.application,
            session: principal.job?.session ?? clientContext.sessionID,
            tags: streamTags, capabilities: principal.capabilities,
            startTime: MonotonicClock.wallTime(), address: principal.job == nil ? clientContext.address : nil,
            ordinal: registry.takeOrdinal(),
            publisher: principal.publisher)
        registry.update(peer) { $0.acceptsSecondCodec = secondCodec == .offered }
        if let first {
            stream.place = .secondCodec(of: first)
            // It belongs to the first stream, so that it has no record and no notifications.
            stream.isEndRecorded = true
            secondCodecs[first]?.stream = id
        }
        stream.isAwaitingAnswer = offer == nil
        if let admission {
            stream.place = .publisher(of: admission.name, as: principal.job?.role ?? .publisher)
        }
        registry.add(stream)
        policy.enter(stream, reservation)
        if first == nil { writeQueue.note(.streamStarting(stream.record)) }
        var terms = publishingOptions(capabilities, for: admission)
        if first != nil {
            terms.preferring = [SecondCodecRequest.codec]
            terms.insistsOnCodecs = true
            terms.hasRenditions = false
        }
        do {
            var description = try await router.publish(
                peer, stream: id, offer: offer, terms: terms, group: admission?.group)
            if principal.job != nil { router.addOwnCandidates(to: &description) }
            note(description, isOffer: offer == nil, of: peer)
            if offer != nil, first == nil {
                await noteStart(of: id)
                announce(id)
                await joinName(id)
            }
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
            if first == nil {
                writeQueue.note(Self.change(stream, StreamEnd(streamID: id, reason: .failed, description: "")))
            } else {
                await followSecondCodec(endOf: stream)
            }
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
    ///   - makesCounterOffer: Whether an offer that cannot be accepted gets an offer of the platform, which `accept`
    ///     completes.
    ///   - onEnd: Called once when the viewing has ended.
    ///   - onQuality: Called at each change of the data quality.
    ///   - onInterruption: Called when the media connection is lost and may be re-established; nil if the client cannot
    ///     do so.
    /// - Returns: The viewing, with an answer or an offer.
    /// - Throws: ``APIError``.
    func view(
        _ principal: Principal, clientContext: ClientContext, origin: StreamID?, offer: SessionDescription?,
        options: [String] = [],
        resuming resumedID: StreamID? = nil, isPreview: Bool = false, makesCounterOffer: Bool = false,
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
        let (stream, capabilities) = try await admitViewer(
            principal, clientContext, origin: origin, options: options, isPreview: isPreview)
        let reservation = try policy.reserve(isPreview ? .preview : .viewer, principal, clientContext)
        let id = principal.job?.stream ?? StreamID(RandomIdentifier.make(prefix: "view-"))
        guard registry.peers[id] == nil else { throw APIError(.conflict, "The stream already exists.") }
        let peer = registry.enter(
            id, reservation, origin: stream.id, isPublisher: false, isPreview: isPreview,
            hasSession: principal.hasSession(clientContext), at: MonotonicClock.now(), onEnd: onEnd,
            onQuality: onQuality)
        registry.update(peer) { $0.revocationKey = principal.revocationKey }
        beginTrace(of: peer)
        if principal.job == nil { registry.update(peer) { $0.address = clientContext.address } }
        setReconnection(peer, in: clientContext.sessionID, onInterruption)
        do {
            var terms = capabilities.terms
            terms.isCounted = !isPreview
            let negotiation = try await negotiate(
                peer, viewing: stream.id, offer, terms, makesCounterOffer: makesCounterOffer)
            var description = negotiation.description
            if principal.job != nil { router.addOwnCandidates(to: &description) }
            note(description, isOffer: offer == nil || negotiation.counterOfferValidity != nil, of: peer)
            if !isPreview { noteView(id, of: stream.id, principal, clientContext) }
            logger.info(
                "viewer admitted", metadata: Self.metadata(["stream": "\(stream.id)", "view": "\(id)"], clientContext))
            warn(of: capabilities, stream: id)
            return PeerSession(
                peer: peer, streamID: id, isPublisher: false, description: description,
                counterOfferValidity: negotiation.counterOfferValidity, ignoredCapabilities: capabilities.reportedNames)
        } catch {
            discard(peer)
            throw Self.refusal(error)
        }
    }

    /// Returns the stream that a client may view, and its options. It waits for a publisher that is expected.
    /// `prefersOwn` selects the publication of this node, for clients that cannot receive those of others.
    ///
    /// - Throws: ``APIError``.
    func admitViewer(
        _ principal: Principal, _ clientContext: ClientContext, origin: StreamID?, options: [String] = [],
        isPreview: Bool = false, prefersOwn: Bool = false
    ) async throws(APIError) -> (LiveStream, StreamCapabilities) {
        let awaited = PresenterAwait(options: options)
        let isAwaited = awaited != nil
        var channel = channel(requested: origin, for: principal, isAwaited: isAwaited)
        if let awaited { try check(awaited, channel, requested: origin, for: principal, clientContext) }
        if let presented = channel {
            channel = await openChannel(
                presented, requested: origin, for: principal, clientContext, isAwaited: isAwaited)
            // The stream of one presenter would not follow the others.
            guard !isAwaited || channel?.stream != nil else { throw .cannotAwaitPresenters }
            if let channel { try await pullPresenter(of: channel, requested: origin, for: principal, clientContext) }
        } else {
            try await waitForName(origin, for: principal, clientContext)
            try await waitForRequestedStream(of: origin, for: principal, clientContext)
            try await waitForOrigin(origin, for: principal, clientContext, prefersOwn: prefersOwn)
        }
        let stream = try policy.find(
            origin, of: channel, in: registry, for: principal, clientContext: clientContext, prefersOwn: prefersOwn)
        let capabilities = try StreamCapabilities(principal.capabilities, options: options, for: .view)
        if !isPreview { try policy.takeJoin(principal, clientContext) }
        guard policy.authenticator.hasHook else { return (stream, capabilities) }
        try await policy.authenticator.checkHook(.subscribe(stream.id), principal, clientContext)
        // The stream may have ended meanwhile.
        let requested = principal.origin(requested: origin) ?? stream.id
        if channel != nil { channel = self.channel(requested: origin, for: principal, isAwaited: isAwaited) }
        return (
            try policy.find(
                requested, of: channel, in: registry, for: principal, clientContext: clientContext,
                prefersOwn: prefersOwn),
            capabilities
        )
    }

    static func metadata(_ metadata: Logger.Metadata, _ clientContext: ClientContext) -> Logger.Metadata {
        guard let session = clientContext.sessionID else { return metadata }
        return metadata.merging(["session": "\(session)"]) { $1 }
    }

    private func note(_ description: SessionDescription, isOffer: Bool, of peer: PeerID) {
        guard isOffer else { return note(answer: description, of: peer) }
        registry.update(peer) { $0.offer = description }
    }

    func note(answer: SessionDescription, of peer: PeerID) {
        registry.update(peer) { $0.answer = answer }
        guard let participant = registry.participants[peer], participant.isPublisher else { return }
        let codecs = answer.media
            .filter { !$0.isRejected && $0.direction != .inactive }.compactMap { $0.payloadFormats.first?.codec }
            .sorted { $0.mediaType == .video && $1.mediaType == .audio }
        registry.update(participant.streamID) { $0.codecs = codecs }
    }

    func noteStart(of id: StreamID) async {
        await writeQueue.commit(.streamStarted(id, at: MonotonicClock.wallTime()))
    }

    /// Logs the capabilities without effect.
    func warn(of capabilities: StreamCapabilities, stream id: StreamID) {
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
        guard let peer = registry.peers[id], let offer = registry.participants[peer]?.offer else {
            throw Self.refusal(.noOffer)
        }
        let session: NegotiatedSession
        do {
            session = try await router.accept(answer, from: peer)
        } catch {
            throw Self.refusal(error)
        }
        registry.update(peer) { $0.offer = nil }
        note(answer: offer.asAnswer(of: session), of: peer)
        if registry.streams[id] != nil {
            await noteStart(of: id)
            registry.update(id) { $0.isAwaitingAnswer = false }
            announce(id)
            await joinName(id)
        }
        logger.info("the platform's offer was answered", metadata: ["stream": "\(id)"])
        return session
    }

    func noteView(_ id: StreamID, of stream: StreamID, _ principal: Principal, _ clientContext: ClientContext) {
        statistics.viewBegan(principal.application)
        let viewers = viewers(of: stream)
        registry.update(stream) {
            $0.counts.views += 1
            $0.counts.mostViewers = max($0.counts.mostViewers, viewers)
        }
        writeQueue.note(
            .viewingBegan(
                ViewingRecord(
                    id: id, stream: stream, application: principal.application, session: clientContext.sessionID,
                    tags: principal.tags, began: MonotonicClock.wallTime())))
    }

    /// Removes a participant that was not admitted or has ended.
    func discard(_ peer: PeerID) {
        guard let participant = registry.leave(peer) else { return }
        participant.trace?.ended()
        guard participant.isPublisher else { return leaveSecondCodec(of: participant.origin, peer) }
        policy.leave(participant.streamID)
        shareBitrate()
    }

    /// Sends each publisher its share of the bit rate. The shares change when a publisher joins or leaves, and when
    /// limits change.
    func shareBitrate() {
        for (id, share) in policy.takeShares() {
            if let peer = registry.streams[id]?.peer { router.limit(peer, to: share) }
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
        let id = registry.resolveOwn(id)
        guard let peer = registry.peers[id], let participant = registry.participants[peer] else {
            if await endPending(id, of: application, reason: reason, description: description) { return true }
            return await endWaiting?(id, application, reason, description) ?? false
        }
        if let application, registry.streams[id]?.application != application { return false }
        let end = participant.ending ?? (reason, description)
        registry.update(peer) { $0.ending = end }
        if let stream = registry.streams[id], !stream.isEndRecorded, !stream.isPulled {
            registry.update(id) { $0.isEndRecorded = true }
            await writeQueue.commit(
                Self.change(stream, StreamEnd(streamID: id, reason: end.reason, description: end.description)))
        }
        for viewer in registry.subscribers[id] ?? [] { registry.update(viewer) { $0.ending = $0.ending ?? end } }
        await noteClosed(of: id)
        await router.end(peer, reason: end.reason)
        if participant.isLocal { await noteEnd(peer, end.reason) }
        return true
    }

    /// Ends all streams. The SFU reports each end.
    func endAll(reason: StreamEndedReason) async {
        for stream in Array(registry.streams.keys) + pendingReconnects.streams.keys {
            await end(stream, reason: reason, description: reason.rawValue)
        }
    }

    /// Processes the events of the SFU until it stops.
    func follow(_ events: AsyncStream<SFUEvent>) async {
        for await event in events {
            switch event {
            case .mediaStarted(let peer): await noteMedia(peer)
            case .videoStarted(let peer): registry.update(peer) { $0.trace?.videoStarted() }
            case .reachable(let peer): registry.update(peer) { $0.trace?.reachable() }
            case .ended(let peer, let reason):
                router.discard(peer)
                renditions?.end(peer)
                await noteClosed(peer, reason)
            case .connected(let peer, let profile):
                noteConnected(peer)
                logger.debug("secure transport connected", metadata: ["peer": "\(peer.value)", "srtp": "\(profile)"])
            case .away(let peer):
                registry.update(peer) { $0.isAway = true }
                reportActivity(of: peer, false)
                logger.info("no packets for 5 s", metadata: ["peer": "\(peer.value)"])
            case .back(let peer):
                registry.update(peer) { $0.isAway = false }
                reportActivity(of: peer, true)
                logger.info("packets arrive again", metadata: ["peer": "\(peer.value)"])
            case .dataQuality(let peer, let quality): await noteQuality(peer, quality)
            case .videoFindings(let peer, let isReordered, let interval):
                guard let id = registry.participants[peer]?.streamID else { continue }
                var findings: [IngestFinding] = isReordered ? [.reorderedFrames] : []
                if let interval { findings.append(.longKeyFrameInterval(interval)) }
                for finding in findings { warn(of: finding, stream: id) }
                note(findings, of: id)
            case .linkLost(let peer, let reason): await noteLostLink(peer, reason)
            case .videoCodecChanged(let peer, let codec): noteCodec(codec, of: peer)
            case .renditionsWanted(let peer, let layers): renditions?.want(layers, of: peer)
            case .renditionKeyFramesWanted(let peer, let layers): renditions?.requestKeyFrames(layers, of: peer)
            case .closeConnection: preconditionFailure("the router must close connections itself")
            }
        }
    }

    /// Begins the spans of a client that joins.
    func beginTrace(of peer: PeerID, over transport: JoinTrace.Transport = .webRTC) {
        guard let participant = registry.participants[peer] else { return }
        let trace = JoinTrace(
            tracer, stream: participant.streamID, origin: participant.origin, isPublisher: participant.isPublisher,
            transport: transport)
        registry.update(peer) { $0.trace = trace }
    }

    private func noteConnected(_ peer: PeerID) {
        guard let participant = registry.participants[peer] else { return }
        registry.update(peer) { $0.trace?.connected() }
        statistics.joined(isPublisher: participant.isPublisher, after: MonotonicClock.now() - participant.entered)
    }

    private func noteMedia(_ peer: PeerID) async {
        guard let participant = registry.participants[peer] else { return }
        registry.update(peer) { $0.trace?.mediaStarted() }
        registry.update(participant.streamID) { $0.hasMedia = true }
        logger.info("first media packet", metadata: ["stream": "\(participant.streamID)"])
        if case .secondCodec(let first) = registry.streams[participant.streamID]?.place {
            noteSecondCodec(participant.streamID, of: first)
        }
        guard let stream = registry.streams[participant.streamID], !stream.place.isPublisher, !stream.isPulled else {
            return
        }
        renditions?.begin(stream)
        await packaging?.begin(stream)
    }

    func noteQuality(_ peer: PeerID, _ quality: DataQuality) async {
        guard let participant = registry.participants[peer] else { return }
        let wasUplinkWeak = participant.quality.reason == .uploadLimited
        registry.update(peer) { participant in
            participant.quality = quality
            participant.qualitySince = MonotonicClock.wallTime()
        }
        if participant.isPublisher, quality.reason == .uploadLimited, !wasUplinkWeak {
            warn(of: .weakUplink, stream: participant.streamID)
        }
        logger.info(
            "data quality",
            metadata: [
                "stream": "\(participant.streamID)", "status": "\(quality.status.rawValue)",
                "reason": "\(quality.reason.rawValue)",
            ])
        reportQuality(of: peer)
        if participant.isPublisher, !participant.isPreview {
            events.yield(.qualityChanged(participant.streamID, quality))
        }
        await participant.onQuality(participant.streamID, quality)
    }

    /// Returns the events of a participant: its current data quality, each change of it, the captions and the
    /// publication of a viewing, and its end. A slow reader misses the oldest events. `receivesReconnect` is whether the
    /// reader passes the request to connect again on to the client.
    func updates(of peer: PeerID, receivesReconnect: Bool = false) -> AsyncStream<StreamUpdate> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: StreamUpdate.self, bufferingPolicy: .bufferingNewest(Self.qualityBacklog))
        guard let participant = registry.participants[peer], let number = registry.add(continuation, to: peer) else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            Task { [weak self] in await self?.removeListener(number, of: peer) }
        }
        if receivesReconnect { registry.update(peer) { $0.receivesReconnect = true } }
        continuation.yield(.quality(participant.quality, warnings: warnings(of: participant)))
        if participant.isPublisher, let request = currentSecondCodec(of: participant.streamID) {
            continuation.yield(request)
        }
        if !participant.isPublisher {
            let captions = currentCaptions(of: participant.origin)
            if !captions.isEmpty { continuation.yield(.captions(captions)) }
            if isActive(participant.origin) { continuation.yield(.activity(true)) }
        }
        return stream
    }

    private func removeListener(_ number: Int, of peer: PeerID) {
        registry.update(peer) { $0.listeners[number] = nil }
    }

    func noteEnd(_ peer: PeerID, _ reason: StreamEndedReason) async {
        guard let participant = registry.participants[peer] else { return }
        let stream = registry.streams[participant.streamID]
        let end = StreamEnd(
            streamID: participant.streamID, reason: participant.ending?.reason ?? reason,
            description: participant.ending?.description ?? "")
        let isInactive = !participant.isPublisher && !isPublished(participant.origin)
        for listener in participant.listeners.values {
            if isInactive { listener.yield(.activity(false)) }
            listener.yield(.ended(end))
        }
        discard(peer)
        if let stream {
            if !stream.isEndRecorded, !stream.isPulled { writeQueue.note(Self.change(stream, end)) }
            // A pulled stream may continue at its origin.
            if !stream.isPulled { registry.note(end, of: stream.application) }
            statistics.streamEnded(stream.application, end.reason)
            if stream.isAnnounced { events.yield(end.event) }
        } else if !participant.isPreview {
            writeQueue.note(.viewingEnded(end.streamID, at: MonotonicClock.wallTime(), reason: end.wire))
        }
        logger.info("stream ended", metadata: ["stream": "\(participant.streamID)", "reason": "\(end.wire)"])
        if let stream { await leaveName(stream) }
        if let stream { await followSecondCodec(endOf: stream) }
        if stream != nil { packaging?.end(end.streamID) }
        if stream != nil { await endPendingViewings(of: end.streamID, end.reason, end.description) }
        if stream != nil { await endLocalViewings(of: end.streamID, end.reason) }
        await participant.onEnd(end)
    }

    static func change(_ stream: LiveStream, _ end: StreamEnd) -> RecordChange {
        .streamEnded(stream.id, at: MonotonicClock.wallTime(), reason: end.wire, counts: stream.counts)
    }
}
