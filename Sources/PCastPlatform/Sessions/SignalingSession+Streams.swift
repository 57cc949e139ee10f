import Logging
import NIOCore
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastSignaling
import PCastWeb
import PCastWebRTC

/// The requests about the streams of a session.
extension SignalingSession {
    func setUp(_ message: PCastSetupStream) async -> PCastSetupStreamResponse {
        do throws(APIError) {
            var response = PCastSetupStreamResponse()
            let created = try await createStream(message)
            response.createStreamResponse = created
            response.status = created.status
            return response
        } catch {
            return await rejection(of: message, error)
        }
    }

    private func createStream(_ message: PCastSetupStream) async throws(APIError) -> PCastCreateStreamResponse {
        guard let session else { throw .noToken }
        let create = message.createStream
        guard create.sessionID.isEmpty || create.sessionID == session.id.description else {
            throw APIError(
                .unauthorized, "The session is not that of this connection: send the session ID that it received.")
        }
        guard onlyToken == nil || onlyToken == message.streamToken else {
            throw .token("the session was opened with another token, which is valid for its own stream only")
        }
        try ClientTextLimits.check(tags: create.tags)
        guard create.connectUri.utf8.count <= ClientTextLimits.uri else {
            throw APIError(.badRequest, "The URI is too long: send at most \(ClientTextLimits.uri) bytes.")
        }
        try ClientTextLimits.check(options: create.options + create.connectOptions)
        let identified = try await authenticator.identifyClient(message.streamToken, from: clientContext)
        let principal = await rooms.permit(create.tags, to: identified)
        if let application, principal.token != nil, principal.application != application {
            throw .token("the token belongs to another application")
        }
        if create.hasConnectUri {
            // The client that starts an ingest job counts as the one that begins the stream.
            try limiter.takeJoin(from: remoteAddress, at: MonotonicClock.now())
            let request = JobRequest(
                message: create, principal: principal, clientContext: clientContext, session: session.id)
            return PCastCreateStreamResponse(job: try await workers.start(request))
        }
        let negotiation = try StreamNegotiation(create)
        if !negotiation.isPublishing, StreamCapabilities.requiresPlaylist(principal.capabilities) {
            return try await playlist(create, negotiation, principal)
        }
        let sessionID = session.id
        let registry = registry
        let rooms = rooms
        let onEnd: @Sendable (StreamEnd) async -> Void = { end in
            await registry.ended(end, in: sessionID)
            await rooms.streamEnded(end.streamID, of: sessionID)
            await principal.job?.ended(end)
        }
        let wantsQuality = create.options.contains(Self.qualityOption)
        let onQuality: StreamDirectory.QualityAction = { stream, quality in
            if wantsQuality { await registry.changed(quality, of: stream, in: sessionID) }
        }
        let onInterruption: PendingReconnects.InterruptionAction = { await registry.interrupted($0, in: sessionID) }
        let resumeRequest = ResumeRequest(options: create.options)
        let peerSession: PeerSession
        if negotiation.isPublishing {
            peerSession = try await directory.publish(
                principal, clientContext: clientContext, offer: negotiation.offer, tags: create.tags,
                options: negotiation.options,
                resuming: resumeRequest, onEnd: onEnd, onQuality: onQuality)
        } else {
            let origin = create.hasOriginStreamID ? create.originStreamID : create.originStreamIds.first
            var former: StreamID?
            if case .stream(let id) = resumeRequest { former = id }
            peerSession = try await directory.view(
                principal, clientContext: clientContext, origin: origin.map { StreamID($0) }, offer: negotiation.offer,
                options: negotiation.options, resuming: former, onEnd: onEnd, onQuality: onQuality,
                onInterruption: onInterruption)
            if create.options.contains(Self.captionOption) {
                await directory.setCaptions(of: peerSession.streamID) { stream, cues in
                    await registry.received(cues, of: stream, in: sessionID)
                }
            }
        }
        let canMove =
            !negotiation.isPublishing && principal.job == nil && create.options.contains(Self.redirectionOption)
        guard await registry.began(peerSession.streamID, in: sessionID, canMove: canMove),
            await directory.isPresent(peerSession)
        else {
            await directory.end(peerSession.streamID, reason: .ended, description: "")
            await registry.discard(peerSession.streamID, in: sessionID)
            throw .ended
        }
        var response = PCastCreateStreamResponse(
            peerSession, isOffer: negotiation.offer == nil,
            turnCredentials: turnCredentials?.offer(to: peerSession.streamID, host: connection.request?.host))
        if !negotiation.isPublishing, create.options.contains(Self.timeShiftOption), let platformOrigin {
            let window = await directory.timeShiftWindow(of: peerSession.streamID, at: MonotonicClock.wallTime())
            response.options += window?.options(at: platformOrigin) ?? []
        }
        return response
    }

    /// Returns the response for a viewer whose token has the capability `streaming`. Its session description has no
    /// media, but the URI of the playlist. The viewing belongs to no session, because the client has no media connection.
    private func playlist(
        _ create: PCastCreateStream, _ negotiation: StreamNegotiation, _ principal: Principal
    ) async throws(APIError) -> PCastCreateStreamResponse {
        guard PresenterAwait(options: negotiation.options) == nil else { throw .cannotAwaitPresenters }
        let stream = create.hasOriginStreamID ? create.originStreamID : create.originStreamIds.first
        let source = try await directory.playlistSource(
            stream.map { StreamID($0) }, for: principal, clientContext: clientContext)
        guard let platformOrigin else {
            throw APIError(.badRequest, "The Host header is missing: send it in the request of the WebSocket.")
        }
        let path = source.signedPath(at: MonotonicClock.wallTime())
        return PCastCreateStreamResponse(playlist: platformOrigin + path, isOffer: negotiation.offer == nil)
    }

    /// The origin under which the client reached the platform, such as `https://platform.example`; nil if the request of
    /// the WebSocket named no host.
    private var platformOrigin: String? {
        guard let host = connection.request?.host else { return nil }
        let isSecure =
            turnCredentials?.isSecure(port: connection.localPort) ?? false
            || limiter.isSecure(
                through: connection.remoteAddress?.ipAddress.flatMap { IPAddress($0) },
                fields: connection.request?.fields ?? { _ in [] })
        return "\(isSecure ? "https" : "http")://\(host)"
    }

    /// Adds captions to a stream that the session publishes.
    func add(_ message: PCastSendCaptions) async -> PCastSendCaptionsResponse {
        let stream = StreamID(message.streamID)
        do throws(APIError) {
            guard let session, await registry.owns(stream, session.id) else { throw .ended }
            guard let sentAt = WallTime(wire: message.timestamp) else {
                throw APIError(
                    .badRequest, "The timestamp of the captions is later than the year 2100: send UTC milliseconds.")
            }
            var cues: [CaptionCue] = []
            for cue in message.cues.prefix(CaptionCue.maximumCount + 1) {
                guard let cue = CaptionCue(cue) else {
                    throw APIError(
                        .badRequest,
                        "A caption's capture time or duration is out of range: send a time before 2100, and at most "
                            + "one day.")
                }
                cues.append(cue)
            }
            try await directory.add(cues, to: stream, sentAt: sentAt)
            return PCastSendCaptionsResponse(status: .ok)
        } catch {
            logger.info("captions rejected", metadata: ["stream": "\(stream)", "error": "\(error.detail)"])
            return PCastSendCaptionsResponse(refusal: error.wire, because: error.message)
        }
    }

    /// Sends the present captions to a client that has subscribed or resumed its session. They follow the response,
    /// because the client does not know the stream before it.
    func sendCurrentCaptions(after response: SignalingResponse) async {
        guard response.status == .ok, let session else { return }
        switch response {
        case .setupStream(let message):
            await directory.sendCurrentCaptions(to: StreamID(message.createStreamResponse.streamID))
        case .authenticate:
            for stream in await registry.streams(of: session.id) { await directory.sendCurrentCaptions(to: stream) }
        default: break
        }
    }

    func destroy(_ message: PCastDestroyStream) async -> PCastDestroyStreamResponse {
        var response = PCastDestroyStreamResponse()
        let stream = StreamID(message.streamID)
        guard let session, await registry.owns(stream, session.id) else {
            response.status = RequestStatus.gone.wire
            return response
        }
        guard ClientTextLimits.isReason(message.reason) else {
            response.status = RequestStatus.badRequest.wire
            return response
        }
        await directory.end(stream, reason: StreamEndedReason(wire: message.reason), description: message.reason)
        response.status = RequestStatus.ok.wire
        return response
    }

    /// Processes a session description. The answer to an offer of the platform completes the negotiation. An offer for
    /// a live stream restarts ICE; no other change is possible.
    func setRemote(_ message: PCastSetRemoteDescription) async -> PCastSetRemoteDescriptionResponse {
        var response = PCastSetRemoteDescriptionResponse()
        let stream = StreamID(message.streamID)
        do throws(APIError) {
            guard let session, await registry.owns(stream, session.id) else { throw .ended }
            let description = try SessionDescription(described: message.sessionDescription)
            switch message.sessionDescription.type {
            case .answer:
                let agreed = try await directory.accept(description, of: stream)
                response.sessionDescription.sdp =
                    MungedAnswer(message.sessionDescription.sdp, keeping: agreed).text
                // ICE-lite sends no checks, but a client may trickle its candidates.
                response.options = ["ice-candidates"]
            case .offer:
                response.sessionDescription.sdp = try await directory.restart(stream, offer: description).text
            }
            response.sessionDescription.type = .answer
            response.status = RequestStatus.ok.wire
        } catch {
            logger.info("session description rejected", metadata: ["error": "\(error.detail)"])
            response = PCastSetRemoteDescriptionResponse(refusal: error.wire, because: error.message)
        }
        return response
    }

    /// Returns the offer of the platform that a stream of the session has not answered yet. There is no new offer for a
    /// live stream.
    func offer(_ message: PCastCreateOfferDescription) async -> PCastCreateOfferDescriptionResponse {
        var response = PCastCreateOfferDescriptionResponse()
        let stream = StreamID(message.streamID)
        guard let session, await registry.owns(stream, session.id) else {
            response.status = RequestStatus.gone.wire
            return response
        }
        guard let offer = await directory.outstandingOffer(to: stream) else {
            response.status = RequestStatus.conflict.wire
            return response
        }
        response.status = RequestStatus.ok.wire
        response.sessionDescription.type = .offer
        response.sessionDescription.sdp = offer.text
        return response
    }

    /// Accepts candidates and states of a stream of the session without further processing. An ICE-lite agent sends no
    /// checks, so it needs no candidates.
    func note(_ stream: String, _ request: SignalingRequest) async -> SignalingResponse {
        guard let session, await registry.owns(StreamID(stream), session.id) else { return request.response(.gone) }
        return request.response(.ok)
    }

    /// The option of `CreateStream` that requests notifications of data quality.
    private static let qualityOption = "data-quality-notifications"
    /// The option of `CreateStream` that requests the captions of a viewed stream.
    private static let captionOption = "captions"
    /// The option of a viewer that requests the window in which it can seek.
    private static let timeShiftOption = "time-shift"
    /// The option of a viewer whose client follows redirections, and views the stream at another node then.
    private static let redirectionOption = "redirect"
}
