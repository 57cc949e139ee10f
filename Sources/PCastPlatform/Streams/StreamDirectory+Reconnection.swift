import Logging
import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastIO
import PCastSFU
import PCastWebRTC

/// Streams whose publisher has lost its media connection. They remain for a while, their owner may resume them with the
/// same identifier, and otherwise they end with the reason `failed`.
extension StreamDirectory {
    /// The maximum time for which a subscriber's request waits for a publisher to reconnect. It is below the timeout of
    /// requests.
    private static let timeout = Duration.seconds(8)
    /// The maximum time until a publisher without packets is detected: 5 s, and the delay of a busy host.
    private static let disconnectDetectionTimeout = TimeSpan.seconds(8)
    private static let pollInterval = Duration.milliseconds(50)

    /// Restores the streams and viewings of a killed platform process. `onEnd` is called with the session of each one
    /// that is not resumed.
    func restore(
        _ interrupted: InterruptedStreams, at now: Instant,
        onEnd: @escaping @Sendable (StreamEnd, SessionID) async -> Void
    ) {
        let deadline = now + reconnectGrace
        let lastSeen = interrupted.lastSeen
        func action(_ session: SessionID?) -> PendingReconnects.EndAction {
            { end in if let session { await onEnd(end, session) } }
        }
        for record in interrupted.streams {
            let live = LiveStream(record, ordinal: registry.takeOrdinal())
            pendingReconnects.add(
                .init(
                    live: live, onEnd: action(record.session),
                    lastSeen: max(lastSeen, record.started ?? record.starting),
                    deadline: deadline))
            logger.notice("stream waits for its publisher to reconnect", metadata: ["stream": "\(record.id)"])
        }
        for viewing in interrupted.viewings {
            guard let session = viewing.session else { continue }
            pendingReconnects.add(
                .init(
                    id: viewing.id, origin: viewing.stream, application: viewing.application, session: session,
                    onEnd: action(session), lastSeen: max(lastSeen, viewing.began), deadline: deadline))
        }
    }

    /// Ends the streams and viewings whose clients did not reconnect in time.
    func endAbsent(at now: Instant) async {
        let overdue = pendingReconnects.takeOverdue(at: now)
        for stream in overdue.streams {
            await close(stream, at: stream.lastSeen, reason: .failed, description: "")
        }
        for viewing in overdue.viewings {
            await close(viewing, at: viewing.lastSeen, reason: .failed, description: "")
        }
    }

    /// Ends a stream or viewing without a media connection. Returns false if there is none with that identifier.
    func endPending(
        _ id: StreamID, of application: ApplicationID?, reason: StreamEndedReason, description: String
    ) async -> Bool {
        let now = MonotonicClock.wallTime()
        if let stream = pendingReconnects.streams[id] {
            guard application == nil || application == stream.live.application else { return false }
            _ = pendingReconnects.take(stream: id)
            await close(stream, at: now, reason: reason, description: description)
            return true
        }
        guard application == nil, let viewing = pendingReconnects.take(viewing: id) else { return false }
        await close(viewing, at: now, reason: reason, description: description)
        return true
    }

    /// Ends the viewings of an ended stream whose subscribers have not reconnected.
    func endPendingViewings(of origin: StreamID, _ reason: StreamEndedReason, _ description: String) async {
        pendingReconnects.resumeRequests(for: origin)
        for viewing in pendingReconnects.takeViewings(of: origin) {
            await close(viewing, at: MonotonicClock.wallTime(), reason: reason, description: description)
        }
    }

    private func close(
        _ stream: PendingReconnects.Stream, at time: WallTime, reason: StreamEndedReason, description: String
    ) async {
        let end = StreamEnd(streamID: stream.live.id, reason: reason, description: description)
        await writeQueue.commit(.streamEnded(end.streamID, at: time, reason: end.wire, counts: stream.live.counts))
        logger.info(
            "stream ended, because its publisher did not reconnect",
            metadata: ["stream": "\(end.streamID)", "reason": "\(end.wire)"])
        registry.note(end, of: stream.live.application)
        events.yield(end.event)
        packaging?.end(end.streamID)
        await endPendingViewings(of: end.streamID, reason, description)
        await stream.onEnd(end)
    }

    private func close(
        _ viewing: PendingReconnects.Viewing, at time: WallTime, reason: StreamEndedReason, description: String
    ) async {
        let end = StreamEnd(streamID: viewing.id, reason: reason, description: description)
        writeQueue.note(.viewingEnded(end.streamID, at: time, reason: end.wire))
        await viewing.onEnd(end)
    }

    /// Returns the client's offer. A client that resumes a stream must make one, because it knows the negotiated media.
    ///
    /// - Throws: ``APIError`` with the kind `badRequest` if it is nil.
    static func offer(ofResuming offer: SessionDescription?) throws(APIError) -> SessionDescription {
        guard let offer else {
            throw APIError(.badRequest, "A resumed stream requires the publisher's offer: send one.")
        }
        return offer
    }

    // MARK: Resuming a publisher

    /// Returns the stream that a publisher resumes and now owns; nil if it begins a new one.
    ///
    /// - Throws: ``APIError``.
    func resume(
        _ resumeRequest: ResumeRequest, _ principal: Principal, _ clientContext: ClientContext, tags: [String]
    ) async throws(APIError) -> PendingReconnects.Stream? {
        switch resumeRequest {
        case .stream(let id):
            guard let stream = pendingReconnects.streams[id]?.live ?? registry.streams[id],
                stream.application == principal.application, registry.isResumable(stream)
            else { throw .ended }
            let isOwn = try policy.authorizeResuming(stream, principal, clientContext)
            guard let pending = await resumePending(id, isOwn: isOwn) else {
                throw APIError(.conflict, "The stream's publisher is still connected: end it first.")
            }
            return pending
        case .former:
            try policy.authorizePublishing(principal, clientContext)
            guard let publisher = principal.publisher else { return nil }
            let key = StreamIndex.Key.owner(
                principal.application, publisher, tags: Set(StreamTags(own: tags, principal).all))
            let candidates = [pendingReconnects.newest(key), registry.newestResumable(key)]
            guard let former = candidates.compactMap({ $0 }).max(by: { $0.ordinal < $1.ordinal }) else { return nil }
            return await resumePending(
                former.id, isOwn: former.session != nil && former.session == clientContext.sessionID)
        }
    }

    /// Returns a stream that waits for its publisher, or takes it from its current one. That is possible for its own
    /// session, or if no packet has arrived for five seconds. Returns nil otherwise.
    private func resumePending(_ id: StreamID, isOwn: Bool) async -> PendingReconnects.Stream? {
        let end = MonotonicClock.now() + Self.disconnectDetectionTimeout
        while let stream = registry.streams[id], !pendingReconnects.isReconnecting(id) {
            if isOwn || registry.participants[stream.peer]?.isAway != false { return await detach(stream) }
            guard MonotonicClock.now() < end, (try? await Task.sleep(for: Self.pollInterval)) != nil else { return nil }
        }
        guard let stream = pendingReconnects.take(stream: id) else { return nil }
        pendingReconnects.beginResuming(id)
        return stream
    }

    /// Removes the media connections of a stream and keeps its identifier. Its viewings end, except those whose clients
    /// can reconnect.
    private func detach(_ stream: LiveStream) async -> PendingReconnects.Stream? {
        guard let publisher = registry.participants[stream.peer] else { return nil }
        let now = MonotonicClock.wallTime()
        let deadline = MonotonicClock.now() + reconnectGrace
        pendingReconnects.beginResuming(stream.id)
        var interrupted: [(StreamID, PendingReconnects.InterruptionAction)] = []
        var endedViewings: [(StreamEnd, PendingReconnects.EndAction)] = []
        for peer in registry.subscribers[stream.id] ?? [] {
            guard let viewer = registry.leave(peer) else { continue }
            leaveSecondCodec(of: stream.id, peer)
            if let (session, onInterruption) = viewer.reconnection {
                pendingReconnects.add(
                    .init(
                        id: viewer.streamID, origin: stream.id, application: stream.application, session: session,
                        onEnd: viewer.onEnd, lastSeen: now, deadline: deadline, reservation: viewer.reservation))
                interrupted.append((viewer.streamID, onInterruption))
            } else {
                let end = StreamEnd(streamID: viewer.streamID, reason: .failed, description: "")
                if viewer.isViewer { writeQueue.note(.viewingEnded(viewer.streamID, at: now, reason: end.wire)) }
                endedViewings.append((end, viewer.onEnd))
            }
        }
        discard(stream.peer)
        logger.info("stream resumed", metadata: ["stream": "\(stream.id)"])
        await router.end(stream.peer, reason: .failed)
        for (id, notify) in interrupted { await notify(id) }
        for (end, notify) in endedViewings { await notify(end) }
        return .init(
            live: stream, onEnd: publisher.onEnd, lastSeen: now, deadline: deadline, reservation: publisher.reservation)
    }

    /// Publishes a resumed stream. The event `started` is not sent again.
    ///
    /// - Throws: ``APIError``.
    func resumePublishing(
        of former: PendingReconnects.Stream, _ principal: Principal, _ clientContext: ClientContext,
        _ offer: SessionDescription,
        _ capabilities: StreamCapabilities, onEnd: @escaping @Sendable (StreamEnd) async -> Void,
        onQuality: @escaping QualityAction
    ) async throws(APIError) -> PeerSession {
        var stream = former.live
        defer { pendingReconnects.endResuming(stream.id) }
        let reservation: QuotaReservation
        do {
            reservation = try policy.reserve(.stream, after: former.reservation, principal, clientContext)
            try policy.checkBitrate(for: principal.application, reservation)
        } catch {
            pendingReconnects.add(former)
            throw error
        }
        stream.peer = registry.enter(
            stream.id, reservation, origin: stream.id, isPublisher: true,
            hasSession: principal.hasSession(clientContext), at: MonotonicClock.now(), onEnd: onEnd,
            onQuality: onQuality)
        registry.update(stream.peer) { $0.revocationKey = principal.revocationKey }
        stream.session = clientContext.sessionID
        stream.address = clientContext.address
        stream.hasMedia = false
        registry.add(stream)
        policy.enter(stream, reservation)
        shareBitrate()
        do {
            let answer = try await publish(stream, offer, capabilities)
            note(answer: answer, of: stream.peer)
            if former.live.session == nil || former.live.session != clientContext.sessionID {
                writeQueue.note(.streamMoved(stream.id, to: clientContext.sessionID))
                let words = "stream resumed"
                await former.onEnd(StreamEnd(streamID: stream.id, reason: .custom, description: words))
            }
            announce(stream.id, isResumed: true)
            // The stream has another publisher for the SFU.
            await leaveName(stream)
            await joinName(stream.id)
            logger.info("publisher reconnected", metadata: ["stream": "\(stream.id)"])
            return PeerSession(
                peer: stream.peer, streamID: stream.id, isPublisher: true, description: answer,
                ignoredCapabilities: capabilities.reportedNames)
        } catch {
            discard(stream.peer)
            pendingReconnects.add(former)
            throw Self.refusal(error)
        }
    }

    /// Publishes a resumed stream. It retries while the SFU is still removing the previous publisher.
    ///
    /// - Throws: `SFUError`.
    private func publish(
        _ stream: LiveStream, _ offer: SessionDescription, _ capabilities: StreamCapabilities
    ) async throws(SFUError) -> SessionDescription {
        var attempts = 0
        while true {
            do throws(SFUError) {
                return try await router.publish(
                    stream.peer, stream: stream.id, offer: offer, terms: publishingOptions(capabilities))
            } catch {
                guard case .streamExists = error, attempts < 40 else { throw error }
                attempts += 1
                try? await Task.sleep(for: Self.pollInterval)
            }
        }
    }

    // MARK: Resuming a subscriber

    func setReconnection(
        _ peer: PeerID, in session: SessionID?, _ onInterruption: PendingReconnects.InterruptionAction?
    ) {
        guard let session, let onInterruption else { return }
        registry.update(peer) { $0.reconnection = (session, onInterruption) }
    }

    /// Resumes a viewing of the same session as soon as the publisher has reconnected. The token need not be valid any
    /// more.
    ///
    /// - Throws: ``APIError``.
    func resumeViewing(
        _ id: StreamID, _ principal: Principal, _ clientContext: ClientContext, _ offer: SessionDescription,
        _ capabilities: StreamCapabilities, onEnd: @escaping @Sendable (StreamEnd) async -> Void,
        onQuality: @escaping QualityAction, onInterruption: PendingReconnects.InterruptionAction?
    ) async throws(APIError) -> PeerSession {
        try policy.takeJoin(principal, clientContext)
        if policy.authenticator.hasHook,
            let origin = registry.peers[id].flatMap({ registry.participants[$0]?.origin })
                ?? pendingReconnects.viewings[id]?.origin
        {
            try await policy.authenticator.checkHook(.subscribe(origin), principal, clientContext)
        }
        await detachViewing(id, of: clientContext.sessionID)
        guard let known = pendingReconnects.viewings[id], known.session == clientContext.sessionID,
            known.application == principal.application
        else { throw .ended }
        try await waitForReconnection(of: known.origin)
        guard let viewing = pendingReconnects.take(viewing: id) else { throw .ended }
        let reservation: QuotaReservation
        do {
            reservation = try policy.reserve(.viewer, after: viewing.reservation, principal, clientContext)
        } catch {
            pendingReconnects.add(viewing)
            throw error
        }
        let peer = registry.enter(
            id, reservation, origin: viewing.origin, isPublisher: false,
            hasSession: principal.hasSession(clientContext), at: MonotonicClock.now(), onEnd: onEnd,
            onQuality: onQuality)
        registry.update(peer) { $0.revocationKey = principal.revocationKey }
        if principal.job == nil { registry.update(peer) { $0.address = clientContext.address } }
        setReconnection(peer, in: clientContext.sessionID, onInterruption)
        do {
            let answer = try await router.view(
                peer, stream: viewing.origin, offer: offer, terms: capabilities.terms)
            note(answer: answer, of: peer)
            logger.info("viewer reconnected", metadata: ["stream": "\(viewing.origin)", "view": "\(id)"])
            return PeerSession(
                peer: peer, streamID: id, isPublisher: false, description: answer,
                ignoredCapabilities: capabilities.reportedNames)
        } catch {
            discard(peer)
            pendingReconnects.add(viewing)
            throw Self.refusal(error)
        }
    }

    /// Disconnects a subscriber that sends its request again, because it may not have received the last response.
    private func detachViewing(_ id: StreamID, of session: SessionID?) async {
        guard let peer = registry.peers[id], let viewer = registry.participants[peer], !viewer.isPublisher,
            !viewer.isClosed, let owner = viewer.reconnection?.session, owner == session,
            let stream = registry.streams[viewer.origin]
        else { return }
        registry.leave(peer)
        leaveSecondCodec(of: viewer.origin, peer)
        pendingReconnects.add(
            .init(
                id: id, origin: viewer.origin, application: stream.application, session: owner, onEnd: viewer.onEnd,
                lastSeen: MonotonicClock.wallTime(), deadline: MonotonicClock.now() + reconnectGrace,
                reservation: viewer.reservation)
        )
        await router.end(peer, reason: .failed)
    }

    /// Waits for the requested stream if its publisher may reconnect.
    ///
    /// - Throws: ``APIError`` with the kind `notReady` if the publisher does not reconnect in time.
    func waitForRequestedStream(of origin: StreamID?, for principal: Principal, _ clientContext: ClientContext)
        async throws(APIError)
    {
        guard !pendingReconnects.streams.isEmpty || !pendingReconnects.resuming.isEmpty else { return }
        let tag = principal.token?.requiredTag
        let stream: LiveStream?
        if let named = principal.origin(requested: origin) {
            stream =
                pendingReconnects.streams[named]?.live
                ?? (pendingReconnects.resuming.contains(named) ? registry.streams[named] : nil)
        } else {
            let key = StreamIndex.Key.subscribable(principal.application, tag: tag)
            stream = registry.newestSubscribable(key) == nil ? pendingReconnects.newest(key) : nil
        }
        guard let stream, stream.application == principal.application else { return }
        try policy.authorize(principal, clientContext, origin: stream.id.description, tags: stream.authorizingTags)
        try await waitForReconnection(of: stream.id)
    }

    private func waitForReconnection(of id: StreamID) async throws(APIError) {
        let notYet = APIError(.notReady, "The stream waits for its publisher to reconnect: retry in a moment.")
        guard pendingReconnects.isReconnecting(id) else { return }
        guard let request = pendingReconnects.newRequest(for: id) else { throw notYet }
        let limit = Task {
            try await Task.sleep(for: Self.timeout)
            pendingReconnects.resumeRequest(request, for: id)
        }
        await withCheckedContinuation { pendingReconnects.add($0, request: request, for: id) }
        limit.cancel()
        guard !pendingReconnects.isReconnecting(id) else { throw notYet }
    }
}
