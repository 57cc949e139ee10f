import Logging
import NIOCore
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastSignaling
import PCastWeb
import PCastWebRTC

/// A client's WebSocket, which uses the signaling protocol: it drives the state machine and handles its requests.
actor SignalingSession {
    private let connection: WebSocketConnection
    private let authenticator: TokenAuthenticator
    let directory: StreamDirectory
    private let registry: SessionRegistry
    private let workers: JobSupervisor
    let rooms: RoomService
    private let turnCredentials: TURNCredentialProvider?
    private let limiter: RequestLimiter
    private let clock: SessionClock
    let logger: Logger
    private let caller: RequestOrigin
    var remoteAddress: IPAddress? { caller.address }

    private var machine: ServerSignalingMachine
    /// The time to send pending messages before the connection is closed.
    private let closingTime: TimeSpan
    var session: SessionRegistry.Opened?
    /// The events of the session's rooms; nil before its first request for a room.
    var roomConnection: RoomConnection?
    /// The permissions of the session in rooms.
    var roomAccess: RoomAccess?
    /// Whether the client has closed the connection, and will not return.
    var hasLeft = false
    private var pendingUpdates: [SessionRegistry.SessionUpdate] = []
    /// The application whose token opened the session; nil if there was no token.
    private var application: ApplicationID?
    /// The token of a session that was opened with a token for streams. The session may only use this token.
    private var onlyToken: String?
    private var outgoing: AsyncStream<Outgoing>.Continuation
    private let queue: AsyncStream<Outgoing>
    /// The time until which pending messages and the close frame may be sent; nil while the connection is open.
    private var closesUntil: Instant?
    var isClosing: Bool { closesUntil != nil }
    var isOver = false
    /// The time at which the clock calls `advance`; nil if it does not.
    private var wakesAt: Instant?

    private enum Outgoing: Sendable {
        case frame(SignalingFrame)
        case ping
        case close(status: UInt16)
    }

    /// The statuses of a closed WebSocket (RFC 6455, section 7.4.1).
    static let normalClosure: UInt16 = 1_000
    static let goingAway: UInt16 = 1_001
    /// The registered status for a client that may connect again.
    static let tryAgainLater: UInt16 = 1_013

    /// The maximum number of queued messages. If it is exceeded, the connection is closed.
    private static let queueLimit = 1024

    init(
        _ connection: WebSocketConnection, authenticator: TokenAuthenticator, directory: StreamDirectory,
        registry: SessionRegistry, workers: JobSupervisor, rooms: RoomService, turnCredentials: TURNCredentialProvider?,
        limiter: RequestLimiter,
        clock: SessionClock, timeouts: ServerSignalingMachine.Timeouts, logger: Logger
    ) {
        self.connection = connection
        self.authenticator = authenticator
        self.directory = directory
        self.registry = registry
        self.workers = workers
        self.rooms = rooms
        self.turnCredentials = turnCredentials
        self.limiter = limiter
        self.clock = clock
        self.logger = logger
        let peer = connection.remoteAddress?.ipAddress.flatMap { IPAddress($0) }
        let caller = limiter.caller(peer, fields: connection.request?.fields ?? { _ in [] })
        if caller.isHidden { limiter.noteHidden(caller, logger) }
        self.caller = caller
        machine = ServerSignalingMachine(timeouts, at: MonotonicClock.now())
        closingTime = timeouts.closing
        (queue, outgoing) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.queueLimit))
    }

    /// Runs until the connection ends.
    func run() async {
        scheduleAdvance()
        // This task writes, because another one would need more than a kilobyte.
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await self.read()
                await self.stopWriting()
            }
            await write()
            group.cancelAll()
        }
        outgoing.finish()
        isOver = true
        clock.discard(self)
        await leaveSession()
    }

    /// Leaves the session, which the client may resume on another connection.
    private func leaveSession() async {
        guard let session else { return }
        self.session = nil
        await leaveRooms(session.id)
        await registry.connectionLost(session.id, connection: session.connection, at: MonotonicClock.now())
    }

    private func read() async {
        try? await connection.forEachMessage { message in
            switch message {
            case .text(let text): await self.receive(.text(text))
            case .binary(let bytes): await self.receive(.binary(bytes))
            }
        } admitsControl: {
            await self.admitsControl()
        } onActivity: {
            await self.feed(.activity)
        } onServerEnding: {
            await self.close(status: Self.goingAway)
        } onClose: { status in
            await self.closed(status)
        }
    }

    /// Drops pending messages, because the connection has ended.
    private func stopWriting() {
        outgoing.finish()
        connection.cut()
    }

    private func write() async {
        for await item in queue {
            do {
                switch item {
                case .frame(.text(let text)): try await connection.send(.text(text))
                case .frame(.binary(let bytes)): try await connection.send(.binary(bytes))
                case .ping: try await connection.ping()
                case .close(let status):
                    await connection.close(status: status)
                    return
                }
            } catch {
                return
            }
        }
    }

    /// Processes a deadline that the clock reports.
    func advance(to now: Instant) {
        wakesAt = nil
        if let closesUntil {
            if closesUntil <= now { return connection.cut() }
        } else {
            machine.advance(to: now)
            drain()
        }
        scheduleAdvance()
    }

    /// Schedules the next deadline, unless the clock calls earlier.
    private func scheduleAdvance() {
        guard !isOver, let due = closesUntil ?? machine.deadline, wakesAt.map({ due < $0 }) ?? true else { return }
        wakesAt = due
        clock.wake(self, at: due)
    }

    private func beginClosing() {
        if closesUntil == nil { closesUntil = MonotonicClock.now() + closingTime }
        scheduleAdvance()
    }

    /// Processes a message, which counts as a request for the rate limit.
    private func receive(_ frame: SignalingFrame) {
        do throws(APIError) {
            try limiter.takeRequest(from: remoteAddress, at: MonotonicClock.now())
            feed(.received(frame))
        } catch {
            feed(.receivedTooOften(frame))
        }
    }

    /// Returns whether a ping or pong is within the rate limit, for which it counts as a request.
    private func admitsControl() -> Bool {
        (try? limiter.takeRequest(from: remoteAddress, at: MonotonicClock.now())) != nil
    }

    func feed(_ input: ServerSignalingMachine.Input) {
        machine.handle(input, at: MonotonicClock.now())
        drain()
        scheduleAdvance()
    }

    private func drain() {
        while let output = machine.poll() {
            switch output {
            case .send(let frame): enqueue(.frame(frame))
            case .ping: enqueue(.ping)
            case .request(let id, let request): answer(id, request)
            case .expired: break
            case .close:
                close(status: Self.normalClosure)
            }
        }
    }

    /// Sends pending messages and a close frame.
    func close(status: UInt16) {
        beginClosing()
        enqueue(.close(status: status))
    }

    private func enqueue(_ item: Outgoing) {
        guard case .dropped = outgoing.yield(item) else { return }
        logger.info("closing a connection whose client does not read its messages")
        beginClosing()
        outgoing.finish()
    }

    // MARK: Requests

    private func answer(_ id: SignalingRequestID, _ request: SignalingRequest) {
        Task {
            let response = await respond(to: request)
            // A client learns the number of its own change from the event, which therefore precedes the response.
            sendRoomEvents()
            feed(.respond(id, response))
            releaseRoomEvents(after: response)
            // Events that occurred while the client was disconnected follow the response that resumes the session.
            if case .authenticate = request { sendPendingUpdates() }
            await sendCurrentCaptions(after: response)
        }
    }

    private func respond(to request: SignalingRequest) async -> SignalingResponse {
        switch request {
        case .authenticate(let message): return .authenticate(await authenticate(message))
        case .setupStream(let message): return .setupStream(await setUp(message))
        case .destroyStream(let message): return .destroyStream(await destroy(message))
        case .setRemoteDescription(let message): return .setRemoteDescription(await setRemote(message))
        case .createOfferDescription(let message): return .createOfferDescription(await offer(message))
        case .bye: return await closeConnection(request)
        case .addIceCandidates(let message): return await note(message.streamID, request)
        case .updateStreamState(let message): return await note(message.streamID, request)
        case .sendCaptions(let message): return .sendCaptions(await add(message))
        case .joinRoom, .updateMember, .leaveRoom, .createRoom, .getRoomInfo, .updateRoom, .sendMessageToRoom,
            .fetchRoomConversation:
            return await respondInRoom(to: request)
        default:
            logger.info("unsupported request rejected", metadata: ["type": "\(request.typeName)"])
            return request.response(.badRequest)
        }
    }

    private var clientContext: ClientContext {
        ClientContext(
            caller, sessionID: session?.id, host: connection.request?.host, origin: connection.request?.origin)
    }

    private func authenticate(_ message: PCastAuthenticate) async -> PCastAuthenticateResponse {
        var response = PCastAuthenticateResponse()
        do throws(APIError) {
            let principal = try await authenticator.identifyClient(message.authenticationToken, from: clientContext)
            let previous = message.hasSessionID ? SessionID(message.sessionID) : nil
            var entering = clientContext
            entering.sessionID = previous
            let isForStreams = try authenticator.admit(principal, clientContext: entering)
            let reservation = try await reserve(previous, of: principal)
            try await authenticator.checkHook(.openSession, principal, entering)
            let opened = await registry.open(
                principal.application, previous: previous, by: SessionOwner(principal), reservation: reservation,
                at: MonotonicClock.now()
            ) { [weak self] update in await self?.notify(update) ?? false }
            guard let opened else { throw APIError(.capacity, "The platform has reached its capacity: retry later.") }
            if session?.id != opened.id { await leaveSession() }
            session = opened
            pendingUpdates = opened.pendingUpdates
            application = principal.token == nil ? nil : principal.application
            roomAccess = RoomAccess(principal)
            if isOver { await leaveSession() }
            onlyToken = isForStreams ? message.authenticationToken : nil
            response.status = RequestStatus.ok.wire
            response.sessionID = opened.id.description
        } catch {
            logger.info("authentication failed", metadata: ["error": "\(error.detail)"])
            response.status = error.status.wire
            // Phenix's Web SDK adopts the response's session ID regardless of the status, and could not resume with a
            // new token otherwise. It is the client's own text, whether there is such a session or not.
            if message.hasSessionID, message.sessionID.utf8.count <= Self.sessionIDLimit {
                response.sessionID = message.sessionID
            }
        }
        return response
    }

    /// The most bytes of a session ID that is sent back to a client whose token is refused.
    private static let sessionIDLimit = 128

    private func sendPendingUpdates() {
        let update = pendingUpdates
        pendingUpdates = []
        for each in update { _ = notify(each) }
    }

    /// Reserves a place for a new session; nil for a resumed one, which has its place, and for jobs of this platform,
    /// which need none.
    ///
    /// - Throws: ``APIError``.
    private func reserve(_ previous: SessionID?, of principal: Principal) async throws(APIError) -> QuotaReservation? {
        guard principal.job == nil else { return nil }
        try limiter.takeJoin(from: remoteAddress, at: MonotonicClock.now())
        if await registry.mayResume(previous, of: principal.application, by: SessionOwner(principal)) { return nil }
        return try limiter.reserve(.session, of: principal.application, from: remoteAddress)
    }

    private func setUp(_ message: PCastSetupStream) async -> PCastSetupStreamResponse {
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
        guard await registry.began(peerSession.streamID, in: sessionID),
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
        let stream = create.hasOriginStreamID ? create.originStreamID : create.originStreamIds.first
        let packaged = try await directory.packagedStream(
            stream.map { StreamID($0) }, for: principal, clientContext: clientContext)
        guard let platformOrigin else {
            throw APIError(.badRequest, "The Host header is missing: send it in the request of the WebSocket.")
        }
        let path = VideoRoutes.signedPath(packaged, at: MonotonicClock.wallTime())
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
    private func add(_ message: PCastSendCaptions) async -> PCastSendCaptionsResponse {
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
    private func sendCurrentCaptions(after response: SignalingResponse) async {
        guard response.status == .ok, let session else { return }
        switch response {
        case .setupStream(let message):
            await directory.sendCurrentCaptions(to: StreamID(message.createStreamResponse.streamID))
        case .authenticate:
            for stream in await registry.streams(of: session.id) { await directory.sendCurrentCaptions(to: stream) }
        default: break
        }
    }

    private func destroy(_ message: PCastDestroyStream) async -> PCastDestroyStreamResponse {
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
    private func setRemote(_ message: PCastSetRemoteDescription) async -> PCastSetRemoteDescriptionResponse {
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
    private func offer(_ message: PCastCreateOfferDescription) async -> PCastCreateOfferDescriptionResponse {
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
    private func note(_ stream: String, _ request: SignalingRequest) async -> SignalingResponse {
        guard let session, await registry.owns(StreamID(stream), session.id) else { return request.response(.gone) }
        return request.response(.ok)
    }

    private func closeConnection(_ request: SignalingRequest) async -> SignalingResponse {
        if let session {
            for stream in await registry.close(session.id) where await !workers.isDetached(stream) {
                await directory.end(stream, reason: .ended, description: "")
            }
            self.session = nil
            hasLeft = true
            await leaveRooms(session.id)
        }
        return request.response(.ok)
    }

    /// Notifies the client about a stream of its session. Returns false if the connection has ended.
    private func notify(_ update: SessionRegistry.SessionUpdate) -> Bool {
        guard let session, !isOver, !isClosing else { return false }
        switch update {
        case .ended(let end):
            var message = PCastStreamEnded()
            message.sessionID = session.id.description
            message.streamID = end.streamID.description
            message.reason = end.wire
            feed(.event(.streamEnded(message)))
        case .interrupted(let stream):
            var message = PCastStreamIdle()
            message.sessionID = session.id.description
            message.streamID = stream.description
            feed(.event(.streamIdle(message)))
        case .dataQuality(let stream, let quality):
            feed(.event(.streamDataQuality(PCastStreamDataQuality(quality, of: stream, in: session.id))))
        case .captions(let stream, let cues):
            var message = PCastStreamCaptions()
            message.sessionID = session.id.description
            message.streamID = stream.description
            message.timestamp = MonotonicClock.wallTime().wire
            message.cues = cues.map { PCastCaptionCue($0) }
            feed(.event(.streamCaptions(message)))
        }
        return true
    }

    /// The option of `CreateStream` that requests notifications of data quality.
    private static let qualityOption = "data-quality-notifications"
    /// The option of `CreateStream` that requests the captions of a viewed stream.
    private static let captionOption = "captions"
    /// The option of a viewer that requests the window in which it can seek.
    private static let timeShiftOption = "time-shift"
}
