import PCastCore
import PCastSignaling

/// A client's session across as many connections as it takes: authenticates first on each, lets requests go in the
/// same flight, answers each exactly once, and says when to connect again. It is told the time and does nothing itself.
struct SessionMachine {
    enum Phase: Hashable, Sendable {
        /// No session is wanted.
        case idle
        /// The first connection is being made.
        case starting
        case online
        /// The connection broke, and is being made again.
        case offline
        /// For good.
        case shutDown
    }

    /// Which of the caller's requests an answer is for.
    typealias Ticket = Int

    enum Output {
        case send(SignalingFrame)
        case closeConnection
        case event(PCastEvent)
        case started(Result<SessionID, PCastError>)
        /// The platform does not know the session any more, nor its streams: each has to be set up again, if it can be.
        case interrupted
        /// The session stayed away for too long: its streams are over.
        case over
        case answered(Ticket, Result<SignalingResponse, PCastError>)
        case platformEvent(SignalingEvent)
    }

    private(set) var phase = Phase.idle
    /// Kept across connections, so that the session goes on after a break.
    private(set) var sessionID: SessionID?
    /// Named when authenticating.
    private var sessionToResume: SessionID?
    /// To the platform, as its last answer to a ping told.
    private(set) var roundTripTime: TimeSpan?

    private let identity: ClientIdentity
    private var token = ""
    private var conversation = ClientConversation()
    private var authentication: SignalingRequestID?
    private var tickets: [SignalingRequestID: (ticket: Ticket, name: String)] = [:]
    /// Requests made before the first connection was open; as many as may be outstanding.
    private var waiting: [(request: SignalingRequest, ticket: Ticket)] = []
    /// Since the connection broke: when that was, and how often it was tried to make it again.
    private var offlineSince: Instant?
    private var failedAttempts = 0
    /// The session that streams may be left of.
    private var former: SessionID?
    private var outputs: [Output] = []

    init(identity: ClientIdentity) { self.identity = identity }

    mutating func poll() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    var deadline: Instant? { conversation.deadline }

    // MARK: The application's side

    /// For as long a platform keeps the session of who has no connection (Phenix's Web SDK: `maxOfflineTime`).
    static let maximumOfflineTime = TimeSpan.seconds(180)

    /// Wants a session. A machine is started once; the next session is another machine's.
    ///
    /// - Parameter previous: a session to go on with, where the platform still knows it.
    mutating func start(token: String, resuming previous: SessionID? = nil) {
        precondition(phase == .idle, "a session is started once")
        self.token = token
        sessionToResume = previous
        former = previous
        phase = .starting
    }

    mutating func request(_ request: SignalingRequest, ticket: Ticket, at now: Instant) {
        switch phase {
        case .idle: refuse(ticket, .notStarted(request.typeName))
        case .shutDown: refuse(ticket, .shutDown)
        case .offline: refuse(ticket, .offline(request.typeName))
        case .starting where authentication == nil:
            guard waiting.count < ClientConversation.maximumOutstanding else {
                return refuse(ticket, PCastError(.tooManyOutstanding, asking: request.typeName))
            }
            waiting.append((request, ticket))
        case .starting, .online: send(request, ticket: ticket, at: now)
        }
    }

    /// Ends the session: nothing is connected again, and whoever waits is told.
    mutating func stop(forGood: Bool) {
        former = nil
        guard phase != .shutDown else { return }
        if phase == .starting {
            outputs.append(.event(.authenticated(PCastError.stopped.status, nil)))
            outputs.append(.started(.failure(.stopped)))
        }
        phase = forGood ? .shutDown : .idle
        sessionID = nil
        // Its answer may still be on the way, and begins nothing any more.
        authentication = nil
        refuseWaiting(.stopped)
        outputs.append(.closeConnection)
    }

    private mutating func refuse(_ ticket: Ticket, _ error: PCastError) {
        outputs.append(.answered(ticket, .failure(error)))
    }

    private mutating func refuseWaiting(_ error: PCastError) {
        for (_, ticket) in waiting { refuse(ticket, error) }
        waiting = []
    }

    private mutating func send(_ request: SignalingRequest, ticket: Ticket, at now: Instant) {
        let id = conversation.request(request, at: now)
        tickets[id] = (ticket, request.typeName)
        drain()
    }

    // MARK: The connection's side

    /// A WebSocket is open. Authenticate, and what was asked for meanwhile, go out together.
    mutating func connected(at now: Instant) {
        conversation.handle(.connected, at: now)
        drain()
        guard phase == .starting || phase == .offline else { return }
        var message = identity.authentication(token: token)
        if let sessionToResume { message.sessionID = sessionToResume.description }
        authentication = conversation.request(.authenticate(message), at: now)
        let requests = waiting
        waiting = []
        for (request, ticket) in requests { send(request, ticket: ticket, at: now) }
        drain()
    }

    /// The WebSocket is closed, or could not be opened. Answers how long to wait before the next attempt; nil when none
    /// is to be made.
    ///
    /// - Parameter isRefused: nothing listens there.
    mutating func disconnected(
        _ reason: PCastError, isRefused: Bool = false, at now: Instant,
        using generator: inout some RandomNumberGenerator
    ) -> TimeSpan? {
        conversation.handle(.disconnected, at: now)
        authentication = nil
        drain()
        switch phase {
        case .idle, .shutDown: return nil
        case .starting:
            fail(reason)
            return nil
        case .online:
            phase = .offline
            offlineSince = now
            outputs.append(.event(.offline))
        case .offline: break
        }
        let offline = now - (offlineSince ?? now)
        guard offline < Self.maximumOfflineTime else {
            stayedAway()
            return nil
        }
        if isRefused, let pause = ReconnectionDelay.beforeKnocking(offline: offline, using: &generator) {
            return pause
        }
        defer { failedAttempts += 1 }
        // The last attempt is made when the session is about to end.
        return min(
            ReconnectionDelay.before(attempt: failedAttempts, using: &generator), Self.maximumOfflineTime - offline)
    }

    private mutating func stayedAway() {
        outputs.append(.over)
        former = nil
        fail(PCastError(.unauthorized, .connection, "the platform could not be reached for too long"))
    }

    mutating func received(_ frame: SignalingFrame, at now: Instant) {
        conversation.handle(.received(frame), at: now)
        drain()
    }

    mutating func advance(to now: Instant) {
        conversation.advance(to: now)
        drain()
    }

    private mutating func drain() {
        while let output = conversation.poll() {
            switch output {
            case .send(let frame): outputs.append(.send(frame))
            case .answered(let id, let result): answered(id, result)
            case .event(let event): outputs.append(.platformEvent(event))
            case .roundTripTime(let span): roundTripTime = span
            case .unresponsive: outputs.append(.closeConnection)
            }
        }
    }

    private mutating func answered(_ id: SignalingRequestID, _ result: Result<SignalingResponse, SignalingFailure>) {
        if id == authentication {
            authentication = nil
            return authenticated(result)
        }
        guard let (ticket, name) = tickets.removeValue(forKey: id) else { return }
        outputs.append(.answered(ticket, result.mapError { PCastError($0, asking: name) }))
    }

    // MARK: Authentication

    private mutating func authenticated(_ result: Result<SignalingResponse, SignalingFailure>) {
        switch result {
        case .success(.authenticate(let response)) where RequestStatus(wire: response.status) == .ok:
            begin(SessionID(response.sessionID))
        case .success(let response): refused(PCastError(refusal: response.statusText, of: "Authenticate"))
        case .failure(let failure): lost(PCastError(failure, asking: "Authenticate"))
        }
    }

    private mutating func begin(_ session: SessionID) {
        let isFirst = phase == .starting
        phase = .online
        failedAttempts = 0
        offlineSince = nil
        sessionID = session
        sessionToResume = session
        outputs.append(.event(.authenticated(.ok, session)))
        outputs.append(.event(.online))
        if let former, former != session { outputs.append(.interrupted) }
        former = session
        if isFirst { outputs.append(.started(.success(session))) }
    }

    /// The platform does not take the token, or not now.
    private mutating func refused(_ error: PCastError) {
        guard phase == .offline, error.status != .unauthorized else { return fail(error) }
        // Where there is no room, the session is still there; another answer is about the session, and without it there may
        // be another.
        if ![.capacity, .rateLimited, .timeout, .notReady].contains(error.status) { sessionToResume = nil }
        outputs.append(.closeConnection)
    }

    /// Authenticate was not answered; on a later connection that is one more failed attempt.
    private mutating func lost(_ error: PCastError) {
        if phase == .starting { fail(error) } else { outputs.append(.closeConnection) }
    }

    /// The session that the next start may go on with: the one that a new token is needed for.
    var resumable: SessionID? { phase == .idle ? former : nil }

    private mutating func fail(_ error: PCastError) {
        let isFirst = phase == .starting
        phase = .idle
        sessionID = nil
        outputs.append(.event(.authenticated(error.status, nil)))
        if isFirst { outputs.append(.started(.failure(error))) }
        refuseWaiting(error)
        outputs.append(.closeConnection)
    }
}
