import PCastCore
import PCastSignaling

/// The state machine of a client's session, which may need several connections.
///
/// It authenticates first on each connection and sends other requests together with the authentication. Each request
/// gets exactly one result. The machine returns the time of the next connection attempt. It has no clock and does no
/// input or output.
struct SessionMachine {
    /// The state of the session.
    enum Phase: Hashable, Sendable {
        /// There is no session.
        case idle
        /// The first connection is being made.
        case starting
        /// The client is connected and authenticated.
        case online
        /// The connection was lost, and is being restored.
        case offline
        /// The session has ended permanently.
        case shutDown
    }

    /// The number of a caller's request, which its result repeats.
    typealias Ticket = Int

    /// An action for the caller, or an event.
    enum Output {
        /// Send the frame.
        case send(SignalingFrame)
        /// Close the connection.
        case closeConnection
        /// Notify the application of the event.
        case event(PCastEvent)
        /// The first authentication is complete.
        case started(Result<SessionID, PCastError>)
        /// The platform does not know the session and its streams any more. Each stream has to be set up again, if
        /// possible.
        case interrupted
        /// The client was offline for too long. The session's streams have ended.
        case over
        /// The result of a request.
        case answered(Ticket, Result<SignalingResponse, PCastError>)
        /// A notification of the platform.
        case platformEvent(SignalingEvent)
    }

    private(set) var phase = Phase.idle
    /// The ID of the session; nil without a session.
    private(set) var sessionID: SessionID?
    /// The session to resume, which the authentication names; nil for a new one.
    private var sessionToResume: SessionID?
    /// The round-trip time to the platform by its last response to a ping; nil before the first one.
    private(set) var roundTripTime: TimeSpan?

    /// The platform to connect to: that of the application, or a node to which it has redirected the client; nil before the
    /// start.
    private(set) var platform: PlatformAddress?
    /// The platform of the application.
    private var home: PlatformAddress?
    /// The platforms that have redirected the client since the last authentication, in order.
    private var redirecting: [PlatformAddress] = []
    /// Whether the connection is being closed, because the platform has redirected the client.
    private var isRedirected = false

    private let identity: ClientIdentity
    private var token = ""
    private var machine = ClientSignalingMachine()
    private var authentication: SignalingRequestID?
    /// Whether the WebSocket is open.
    private var isOpen = false
    private var tickets: [SignalingRequestID: (ticket: Ticket, request: SignalingRequest)] = [:]
    /// The requests from before the first connection, or before a redirection during the first authentication. Their number
    /// is limited like that of outstanding requests.
    private var waiting: [(request: SignalingRequest, ticket: Ticket)] = []
    /// The time at which the connection was lost; nil while online.
    private var offlineSince: Instant?
    /// The number of attempts since then.
    private var failedAttempts = 0
    /// The session that may still have streams; nil if there is none.
    private var former: SessionID?
    private var outputs: [Output] = []

    init(identity: ClientIdentity) { self.identity = identity }

    /// Returns the next output; nil if there is none.
    mutating func poll() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    /// The time at which `advance(to:)` must be called; nil if nothing is scheduled.
    var deadline: Instant? { machine.deadline }

    // MARK: Application

    /// The time for which a platform keeps the session of an offline client (Phenix's Web SDK: `maxOfflineTime`).
    static let maximumOfflineTime = TimeSpan.seconds(180)

    /// The maximum number of redirections in a row.
    static let maximumRedirections = 3

    /// Begins a session. A machine is started once; another session needs another machine. `previous` is a session to
    /// resume, if the platform still knows it.
    mutating func start(at address: PlatformAddress, token: String, resuming previous: SessionID? = nil) {
        precondition(phase == .idle, "a session must be started only once")
        platform = address
        home = address
        self.token = token
        sessionToResume = previous
        former = previous
        phase = .starting
    }

    /// Sends a request, or queues it for the first connection. The request fails at once in other states.
    mutating func request(_ request: SignalingRequest, ticket: Ticket, at now: Instant) {
        switch phase {
        case .idle: refuse(ticket, .notStarted(request.typeName))
        case .shutDown: refuse(ticket, .shutDown)
        case .offline: refuse(ticket, .offline(request.typeName))
        case .starting where authentication == nil:
            guard waiting.count < ClientSignalingMachine.maximumOutstanding else {
                return refuse(ticket, PCastError(.tooManyOutstanding, during: request.typeName))
            }
            waiting.append((request, ticket))
        case .starting, .online: send(request, ticket: ticket, at: now)
        }
    }

    /// Ends the session. There is no reconnection, and all waiting requests fail.
    mutating func stop(forGood: Bool) {
        former = nil
        guard phase != .shutDown else { return }
        if phase == .starting {
            outputs.append(.event(.authenticated(PCastError.stopped.status, nil)))
            outputs.append(.started(.failure(.stopped)))
        }
        phase = forGood ? .shutDown : .idle
        sessionID = nil
        // The response may still arrive, but has no effect any more.
        authentication = nil
        refuseWaiting(.stopped)
        outputs.append(.closeConnection)
    }

    /// Fails a request.
    private mutating func refuse(_ ticket: Ticket, _ error: PCastError) {
        outputs.append(.answered(ticket, .failure(error)))
    }

    /// Fails the requests that wait for the first connection.
    private mutating func refuseWaiting(_ error: PCastError) {
        for (_, ticket) in waiting { refuse(ticket, error) }
        waiting = []
    }

    /// Fails the requests that were sent, in order.
    private mutating func refuseSent(_ error: PCastError) {
        for (ticket, _) in takeSent() { refuse(ticket, error) }
    }

    /// Removes the requests that were sent, and returns them in order.
    private mutating func takeSent() -> [(ticket: Ticket, request: SignalingRequest)] {
        defer { tickets = [:] }
        return tickets.values.sorted { $0.ticket < $1.ticket }
    }

    private mutating func send(_ request: SignalingRequest, ticket: Ticket, at now: Instant) {
        let id = machine.request(request, at: now)
        tickets[id] = (ticket, request)
        drain()
    }

    // MARK: Connection

    /// Begins to use a connection. The authentication and waiting requests are sent together. `isOpen` is whether its
    /// WebSocket is open; otherwise ``opened()`` is called when it is.
    mutating func connected(at now: Instant, isOpen: Bool = true) {
        self.isOpen = isOpen
        machine.handle(.connected, at: now)
        drain()
        guard phase == .starting || phase == .offline else { return }
        var message = identity.authentication(token: token)
        if let sessionToResume { message.sessionID = sessionToResume.description }
        authentication = machine.request(.authenticate(message), at: now)
        let requests = waiting
        waiting = []
        for (request, ticket) in requests { send(request, ticket: ticket, at: now) }
        drain()
    }

    /// Notes that the WebSocket of the connection is open.
    mutating func opened() { isOpen = true }

    /// Processes the end of a WebSocket, or a failure to open one. Returns the delay before the next attempt; nil if
    /// there is none. `isRefused` is whether the connection was refused because nothing listens.
    mutating func disconnected(
        _ reason: PCastError, isRefused: Bool = false, at now: Instant,
        using generator: inout some RandomNumberGenerator
    ) -> TimeSpan? {
        let wasOpen = isOpen
        // Requests fail for the reason why the WebSocket could not be opened.
        if !wasOpen { refuseSent(reason) }
        isOpen = false
        machine.handle(.disconnected, at: now)
        authentication = nil
        drain()
        switch phase {
        case .idle, .shutDown: return nil
        case .starting:
            if isRedirected { break }
            fail(reason)
            return nil
        case .online:
            phase = .offline
            offlineSince = now
            outputs.append(.event(.offline))
        case .offline: break
        }
        if isRedirected {
            isRedirected = false
            return .zero
        }
        let offline = now - (offlineSince ?? now)
        guard offline < Self.maximumOfflineTime else {
            sessionTimedOut()
            return nil
        }
        if isRefused, let pause = ReconnectionDelay.beforeQuickRetry(offline: offline, using: &generator) {
            return pause
        }
        if !wasOpen { returnHome() }
        defer { failedAttempts += 1 }
        // The last attempt is made when the session is about to end.
        return min(
            ReconnectionDelay.before(attempt: failedAttempts, using: &generator), Self.maximumOfflineTime - offline)
    }

    /// Ends the session after the client was offline for too long.
    private mutating func sessionTimedOut() {
        outputs.append(.over)
        former = nil
        fail(PCastError(.unauthorized, .connection, "the platform could not be reached before the timeout"))
    }

    /// Processes a received frame.
    mutating func received(_ frame: SignalingFrame, at now: Instant) {
        machine.handle(.received(frame), at: now)
        drain()
    }

    /// Handles timeouts.
    mutating func advance(to now: Instant) {
        machine.advance(to: now)
        drain()
    }

    /// Processes the outputs of the conversation.
    private mutating func drain() {
        while let output = machine.poll() {
            switch output {
            case .send(let frame): outputs.append(.send(frame))
            case .answered(let id, let result): answered(id, result)
            case .event(let event): outputs.append(.platformEvent(event))
            case .roundTripTime(let span): roundTripTime = span
            case .unresponsive: outputs.append(.closeConnection)
            }
        }
    }

    /// Processes the result of a request.
    private mutating func answered(_ id: SignalingRequestID, _ result: Result<SignalingResponse, SignalingFailure>) {
        if id == authentication {
            authentication = nil
            return authenticated(result)
        }
        guard let (ticket, request) = tickets.removeValue(forKey: id) else { return }
        outputs.append(.answered(ticket, result.mapError { PCastError($0, during: request.typeName) }))
    }

    // MARK: Authentication

    /// Processes the result of the authentication.
    private mutating func authenticated(_ result: Result<SignalingResponse, SignalingFailure>) {
        switch result {
        case .success(.authenticate(let response)) where RequestStatus(wire: response.status) == .ok:
            begin(SessionID(response.sessionID))
        case .success(.authenticate(let response))
        where !response.redirect.isEmpty && RequestStatus(wire: response.status) != .unauthorized:
            redirect(to: response.redirect, response.status)
        case .success(let response): refused(PCastError(refusal: response.statusText, of: "Authenticate"))
        case .failure(let failure): lost(PCastError(failure, during: "Authenticate"))
        }
    }

    /// Begins or resumes the session after a successful authentication.
    private mutating func begin(_ session: SessionID) {
        let isFirst = phase == .starting
        phase = .online
        failedAttempts = 0
        redirecting = []
        offlineSince = nil
        sessionID = session
        sessionToResume = session
        outputs.append(.event(.authenticated(.ok, session)))
        outputs.append(.event(.online))
        if let former, former != session { outputs.append(.interrupted) }
        former = session
        if isFirst { outputs.append(.started(.success(session))) }
    }

    /// Connects to another node, to which the platform redirects the client. The requests that were sent together with
    /// the authentication are sent to that node.
    private mutating func redirect(to uri: String, _ status: String) {
        guard let platform, redirecting.count < Self.maximumRedirections,
            let next = PlatformAddress(redirection: uri, from: platform), next != platform,
            !redirecting.contains(next)
        else {
            return refused(
                PCastError(
                    refusal: status, of: "Authenticate",
                    because: "it redirects in a loop, too often, or to an address that is not permitted"))
        }
        redirecting.append(platform)
        self.platform = next
        isRedirected = true
        waiting = takeSent().map { (request: $0.request, ticket: $0.ticket) }
        outputs.append(.closeConnection)
    }

    /// Connects to the platform of the application next, which may name another node than the last time.
    private mutating func returnHome() {
        platform = home
        redirecting = []
    }

    /// Processes a refusal of the token, which may be temporary.
    private mutating func refused(_ error: PCastError) {
        guard phase == .offline, error.status != .unauthorized else { return fail(error) }
        // If the platform has no capacity, the session still exists. Other statuses refer to the session, and a new
        // session may succeed.
        if ![.capacity, .rateLimited, .timeout, .notReady].contains(error.status) { sessionToResume = nil }
        if !redirecting.isEmpty { returnHome() }
        outputs.append(.closeConnection)
    }

    /// Processes an authentication without a response. On a later connection it is a failed attempt.
    private mutating func lost(_ error: PCastError) {
        if phase == .starting { fail(error) } else { outputs.append(.closeConnection) }
    }

    /// The session that the next start may resume with a new token; nil if there is none.
    var resumable: SessionID? { phase == .idle ? former : nil }

    /// Ends the session with an error.
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

/// The delay before a connection attempt: min(1000·n², 60000) ms before the n-th consecutive attempt, counted from 0. A
/// random delay of up to 5 s is added, so that the clients of a restarted platform do not connect at the same time.
enum ReconnectionDelay {
    private static let longest: Int64 = 60_000

    /// The time for which refused connections are retried quickly, as one attempt, because the platform is probably
    /// restarting.
    private static let quickRetryPeriod = TimeSpan.seconds(3)
    /// The minimum delay of a quick retry.
    private static let minimumQuickRetryDelay = TimeSpan.milliseconds(150)
    /// The maximum delay of a quick retry.
    private static let maximumQuickRetryDelay = TimeSpan.milliseconds(300)

    /// Returns the delay before an attempt. `attempt` is counted from 0, which is made at once.
    static func before(attempt: Int, using generator: inout some RandomNumberGenerator) -> TimeSpan {
        let count = Int64(min(max(attempt, 0), 100))
        let pause = min(1_000 * count * count, longest)
        let jitterLimit = min(Double(pause) / 10_000, 5)  // seconds
        return .milliseconds(pause) + TimeSpan(seconds: Double.random(in: 0...jitterLimit, using: &generator))
    }

    /// Returns the delay before a quick retry; nil after the time for those. `offline` is the time since the connection
    /// was lost.
    static func beforeQuickRetry(
        offline: TimeSpan, using generator: inout some RandomNumberGenerator
    ) -> TimeSpan? {
        guard offline < quickRetryPeriod else { return nil }
        return TimeSpan(
            seconds: Double.random(
                in: minimumQuickRetryDelay.seconds...maximumQuickRetryDelay.seconds, using: &generator))
    }
}
