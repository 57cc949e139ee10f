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
    let connection: WebSocketConnection
    let authenticator: TokenAuthenticator
    let directory: StreamDirectory
    let registry: SessionRegistry
    let workers: JobSupervisor
    let rooms: any RoomRequests
    let turnCredentials: TURNCredentialProvider?
    let limiter: RequestLimiter
    private let cluster: ClusterService?
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
    private(set) var application: ApplicationID?
    /// The token of a session that was opened with a token for streams. The session may only use this token.
    private(set) var onlyToken: String?
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
    static let policyViolation: UInt16 = 1_008
    /// The registered status for a client that may connect again at once.
    static let serviceRestart: UInt16 = 1_012
    /// The registered status for a client that may connect again.
    static let tryAgainLater: UInt16 = 1_013

    /// The maximum number of queued messages. If it is exceeded, the connection is closed.
    private static let queueLimit = 1024

    init(
        _ connection: WebSocketConnection, authenticator: TokenAuthenticator, directory: StreamDirectory,
        registry: SessionRegistry, workers: JobSupervisor, rooms: any RoomRequests,
        turnCredentials: TURNCredentialProvider?, limiter: RequestLimiter, cluster: ClusterService?,
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
        self.cluster = cluster
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

    var clientContext: ClientContext {
        ClientContext(
            caller, sessionID: session?.id, host: connection.request?.host, origin: connection.request?.origin)
    }

    private func authenticate(_ message: PCastAuthenticate) async -> PCastAuthenticateResponse {
        var response = PCastAuthenticateResponse()
        var node: String?
        do throws(APIError) {
            let principal = try await authenticator.identifyClient(message.authenticationToken, from: clientContext)
            let previous = message.hasSessionID ? SessionID(message.sessionID) : nil
            var entering = clientContext
            entering.sessionID = previous
            let isForStreams = try authenticator.admit(principal, clientContext: entering)
            node = await redirection(of: previous, principal)
            guard node == nil else { throw .elsewhere }
            let reservation = try await reserve(previous, of: principal)
            try await authenticator.checkHook(.openSession, principal, entering)
            let opened = await registry.open(
                principal.application, previous: previous, by: SessionOwner(principal), reservation: reservation,
                at: MonotonicClock.now()
            ) { [weak self] update in await self?.notify(update) ?? false }
            guard let opened else { throw APIError(.capacity, "The platform has reached its capacity: retry later.") }
            do throws(APIError) {
                // It may have been revoked meanwhile.
                try authenticator.checkRevocation(of: principal)
            } catch {
                for stream in await registry.close(opened.id) {
                    await directory.end(stream, reason: .custom, description: "access revoked")
                }
                throw error
            }
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
            if let node = node ?? cluster?.redirection(after: error, requesting: nil) {
                response.redirect = ClusterService.webSocket(of: node)
            }
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

    /// Returns the node to which a client is redirected, because this one drains or is full; nil if it may stay. Clients
    /// whose sessions are here, and jobs of this platform, stay.
    private func redirection(of previous: SessionID?, _ principal: Principal) async -> String? {
        guard let cluster, principal.job == nil else { return nil }
        guard let previous,
            await registry.mayResume(previous, of: principal.application, by: SessionOwner(principal))
        else { return cluster.redirectionOfDrainedNode() ?? cluster.redirectionOfFullNode() }
        return await registry.isMoving(previous) ? cluster.redirectionOfDrainedNode() : nil
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
        case .moved:
            // The members of a room are at the same node.
            guard roomConnection == nil else { return false }
            close(status: Self.serviceRestart)
        case .revoked:
            hasLeft = true
            close(status: Self.policyViolation)
        }
        return true
    }
}
