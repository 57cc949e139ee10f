import PCastCore
import PCastSignaling
import Testing

@testable import PCast

private func address(_ uri: String) -> PlatformAddress {
    do {
        return try PlatformAddress(option: uri, token: "")
    } catch {
        fatalError("\(error)")
    }
}

/// The platform of the application.
private let home = address("http://a.example")

/// A session and the platform's half of the conversation. Only the test connects them.
private struct Pair {
    var client = SessionMachine(identity: ClientIdentity(deviceID: "device"))
    var server = ServerSignalingMachine(at: Instant(nanoseconds: 0))
    var now = Instant(nanoseconds: 0)
    /// The outputs of the client, except frames.
    var received: [SessionMachine.Output] = []
    /// The requests to the platform, in order.
    var asked: [(SignalingRequestID, SignalingRequest)] = []
    /// The client's frames that have not been delivered.
    var flight: [SignalingFrame] = []
    var generator = SystemRandomNumberGenerator()

    mutating func drainClient() {
        while let output = client.poll() {
            if case .send(let frame) = output { flight.append(frame) } else { received.append(output) }
        }
    }

    mutating func connect(isOpen: Bool = true) {
        server = ServerSignalingMachine(at: now)
        client.connected(at: now, isOpen: isOpen)
        drainClient()
    }

    /// Delivers the client's messages and the platform's responses.
    mutating func exchange() {
        for frame in flight { server.handle(.received(frame), at: now) }
        flight = []
        deliver()
    }

    mutating func answer(_ id: SignalingRequestID, _ response: SignalingResponse) {
        server.handle(.respond(id, response), at: now)
        deliver()
    }

    private mutating func deliver() {
        while let output = server.poll() {
            switch output {
            case .send(let frame): client.received(frame, at: now)
            case .request(let id, let request): asked.append((id, request))
            default: break
            }
        }
        drainClient()
    }

    mutating func disconnect(isRefused: Bool = false) -> TimeSpan? {
        let pause = client.disconnected(
            PCastError(.failed, .connection, "cut"), isRefused: isRefused, at: now, using: &generator)
        flight = []
        drainClient()
        return pause
    }

    /// Establishes the session.
    mutating func goOnline(as session: String = "session-1") {
        client.start(at: home, token: "token")
        connect()
        exchange()
        answerAuthentication(session: session)
        received = []
        asked = []
    }

    mutating func answerAuthentication(status: String = "ok", session: String) {
        var response = PCastAuthenticateResponse()
        response.status = status
        if status == "ok" { response.sessionID = session }
        answer(asked[0].0, .authenticate(response))
    }

    /// Connects, and answers the authentication with a redirection.
    mutating func redirect(to uri: String, status: String = "capacity") {
        asked = []
        connect()
        exchange()
        var response = PCastAuthenticateResponse()
        response.status = status
        response.redirect = uri
        answer(asked[0].0, .authenticate(response))
        asked = []
    }

    var events: [PCastEvent] { received.compactMap { if case .event(let event) = $0 { event } else { nil } } }

    var startResults: [Result<SessionID, PCastError>] {
        received.compactMap { if case .started(let result) = $0 { result } else { nil } }
    }

    var answers: [Int: Result<SignalingResponse, PCastError>] {
        received.reduce(into: [:]) { answers, output in
            if case .answered(let ticket, let result) = output { answers[ticket] = result }
        }
    }

    var interruptions: Int { received.count { if case .interrupted = $0 { true } else { false } } }

    var closes: Int { received.count { if case .closeConnection = $0 { true } else { false } } }
}

private func setup(_ token: String = "stream-token") -> SignalingRequest {
    var message = PCastSetupStream()
    message.streamToken = token
    message.createStream = PCastCreateStream()
    message.createStream.sessionID = ""
    return .setupStream(message)
}

@Suite struct SessionMachineTests {
    @Test("a request before the connection is sent together with the authentication")
    func requestBeforeConnection() {
        var pair = Pair()
        pair.client.start(at: home, token: "token")
        pair.client.request(setup(), ticket: 1, at: pair.now)
        pair.drainClient()
        #expect(pair.flight.isEmpty)
        pair.connect()
        #expect(pair.flight.count == 2)
        pair.exchange()
        #expect(pair.asked.map(\.1.typeName) == ["pcast.Authenticate"])
        pair.answerAuthentication(session: "session-1")
        #expect(pair.asked.map(\.1.typeName) == ["pcast.Authenticate", "pcast.SetupStream"])
        #expect(pair.client.phase == .online)
        #expect(pair.startResults == [.success(SessionID("session-1"))])
        #expect(pair.events == [.authenticated(.ok, SessionID("session-1")), .online])
    }

    @Test("a request during the authentication is sent at once")
    func requestDuringAuthentication() {
        var pair = Pair()
        pair.client.start(at: home, token: "token")
        pair.connect()
        pair.client.request(setup(), ticket: 1, at: pair.now)
        pair.drainClient()
        #expect(pair.flight.count == 2)
    }

    @Test(
        "a request that was sent before the WebSocket is open fails for the reason why it could not be opened",
        arguments: [false, true])
    func notOpened(isOpen: Bool) {
        var pair = Pair()
        pair.client.start(at: home, token: "token")
        pair.client.request(setup(), ticket: 1, at: pair.now)
        pair.connect(isOpen: false)
        #expect(pair.flight.count == 2)
        pair.client.request(setup(), ticket: 2, at: pair.now)
        if isOpen { pair.client.opened() }
        #expect(pair.disconnect() == nil)
        let cut = PCastError(.failed, .connection, "cut")
        for ticket in 1...2 {
            guard case .failure(let error)? = pair.answers[ticket] else {
                Issue.record("request \(ticket) has no result")
                continue
            }
            #expect((error.description == cut.description) == !isOpen, "\(error.description)")
        }
        #expect(pair.answers.count == 2 && pair.startResults.count == 1)
    }

    @Test("a rejected token ends the start and all pending requests")
    func rejectedToken() {
        var pair = Pair()
        pair.client.start(at: home, token: "token")
        pair.client.request(setup(), ticket: 7, at: pair.now)
        pair.connect()
        pair.exchange()
        pair.answerAuthentication(status: "unauthorized", session: "")
        #expect(pair.events == [.authenticated(.unauthorized, nil)])
        guard case .failure(let error)? = pair.startResults.first else {
            Issue.record("the start did not fail")
            return
        }
        #expect(error.status == .unauthorized)
        #expect(pair.client.phase == .idle)
        #expect(pair.closes == 1)
        #expect(pair.disconnect() == nil)
        #expect(pair.answers[7] != nil)
    }

    @Test("a lost connection is restored with the same session")
    func reconnection() {
        var pair = Pair()
        pair.goOnline()
        let pause = pair.disconnect()
        #expect(pair.events == [.offline])
        #expect(pair.client.phase == .offline)
        #expect(pause == .zero)
        pair.received = []
        pair.connect()
        pair.exchange()
        guard case .authenticate(let message)? = pair.asked.first?.1 else {
            Issue.record("the first message is not the authentication")
            return
        }
        #expect(message.sessionID == "session-1")
        pair.answerAuthentication(session: "session-1")
        #expect(pair.events == [.authenticated(.ok, SessionID("session-1")), .online])
        #expect(pair.startResults.isEmpty)
    }

    @Test("failed attempts are repeated at growing intervals, and offline is reported once")
    func reconnectIntervals() {
        var pair = Pair()
        pair.goOnline()
        let pauses = (0..<9).map { _ in pair.disconnect()!.milliseconds }
        #expect(pair.events == [.offline])
        for (index, pause) in pauses.enumerated() {
            let expected = min(1_000.0 * Double(index * index), 60_000)
            #expect((expected...expected * 1.1).contains(pause))
        }
    }

    @Test("connections that are refused within 3 s count as one attempt")
    func refusedConnections() {
        var pair = Pair()
        pair.goOnline()
        #expect(pair.disconnect() == .zero)
        var knocks = 0
        while let pause = pair.disconnect(isRefused: true), pause < .milliseconds(301) {
            knocks += 1
            pair.now = pair.now + pause
        }
        #expect((10...20).contains(knocks))
        #expect(pair.now.nanoseconds >= 3_000_000_000)
    }

    @Test("after 3 minutes offline a new token is required once, and the streams end")
    func offlineLimit() {
        var pair = Pair()
        pair.goOnline()
        var attempts = 0
        while let pause = pair.disconnect() {
            attempts += 1
            pair.now = pair.now + pause
        }
        #expect(pair.now.nanoseconds == 180_000_000_000)
        #expect((8...10).contains(attempts))
        #expect(pair.events == [.offline, .authenticated(.unauthorized, nil)])
        #expect(pair.received.count { if case .over = $0 { true } else { false } } == 1)
        #expect(pair.client.resumable == nil)
    }

    @Test("a new token resumes the session that required it")
    func newToken() {
        var pair = Pair()
        pair.goOnline()
        _ = pair.disconnect()
        pair.connect()
        pair.exchange()
        pair.answerAuthentication(status: "unauthorized", session: "")
        #expect(pair.client.resumable == SessionID("session-1"))
        var next = Pair()
        next.client.start(at: home, token: "another", resuming: pair.client.resumable)
        next.connect()
        next.exchange()
        guard case .authenticate(let message)? = next.asked.first?.1 else {
            Issue.record("the first message is not the authentication")
            return
        }
        #expect(message.sessionID == "session-1")
        next.answerAuthentication(session: "session-1")
        #expect(next.interruptions == 0)
    }

    @Test("the streams of a session that the platform no longer knows are interrupted")
    func unknownSession() {
        var pair = Pair()
        pair.goOnline()
        _ = pair.disconnect()
        pair.received = []
        pair.connect()
        pair.exchange()
        pair.answerAuthentication(session: "session-2")
        #expect(pair.events == [.authenticated(.ok, SessionID("session-2")), .online])
        #expect(pair.interruptions == 1)
    }

    @Test("a session that the platform has lost is created again")
    func lostSession() {
        var pair = Pair()
        pair.goOnline()
        _ = pair.disconnect()
        pair.connect()
        pair.exchange()
        pair.answerAuthentication(status: "gone", session: "")
        #expect(pair.closes == 1)
        #expect(pair.disconnect() != nil)
        pair.asked = []
        pair.connect()
        pair.exchange()
        guard case .authenticate(let message)? = pair.asked.first?.1 else {
            Issue.record("the first message is not the authentication")
            return
        }
        #expect(!message.hasSessionID)
    }

    @Test("a token that expired in the meantime ends the session")
    func expiredToken() {
        var pair = Pair()
        pair.goOnline()
        _ = pair.disconnect()
        pair.received = []
        pair.connect()
        pair.exchange()
        pair.answerAuthentication(status: "unauthorized", session: "")
        #expect(pair.events == [.authenticated(.unauthorized, nil)])
        #expect(pair.client.phase == .idle)
        #expect(pair.disconnect() == nil)
    }

    @Test("a start that is redirected connects to the other node at once, with the requests that were sent")
    func redirectedStart() {
        var pair = Pair()
        pair.client.start(at: home, token: "token")
        pair.client.request(setup("first"), ticket: 1, at: pair.now)
        pair.client.request(setup("second"), ticket: 2, at: pair.now)
        pair.redirect(to: "ws://b.example:8080/ws")
        #expect(pair.closes == 1)
        #expect(pair.client.platform == address("http://b.example:8080"))
        #expect(pair.disconnect() == .zero)
        #expect(pair.answers.isEmpty && pair.startResults.isEmpty && pair.events.isEmpty)
        pair.connect()
        pair.exchange()
        pair.answerAuthentication(session: "session-b")
        let tokens = pair.asked.compactMap { if case .setupStream(let setup) = $0.1 { setup.streamToken } else { nil } }
        #expect(tokens == ["first", "second"])
        #expect(pair.startResults == [.success(SessionID("session-b"))])
        #expect(pair.interruptions == 0)
    }

    @Test("a session that is moved gets a new one at the other node, and its streams are interrupted")
    func moved() {
        var pair = Pair()
        pair.goOnline()
        #expect(pair.disconnect() == .zero)
        pair.redirect(to: "ws://b.example/ws")
        #expect(pair.disconnect() == .zero)
        pair.connect()
        pair.exchange()
        pair.answerAuthentication(session: "session-b")
        #expect(pair.events == [.offline, .authenticated(.ok, SessionID("session-b")), .online])
        #expect(pair.interruptions == 1)
        // The session is resumed at the node that has it.
        #expect(pair.disconnect() == .zero)
        #expect(pair.client.platform == address("http://b.example"))
    }

    @Test(
        "a redirection without TLS, to this host, to a malformed address or back to the same platform is not followed",
        arguments: [
            "ws://b.example/ws", "wss://127.0.0.1/ws", "wss://b.example", "b.example/ws", "ftp://b.example/ws",
            "wss://b.example/?/ws", "wss://a.example/ws",
        ])
    func forbiddenRedirection(uri: String) {
        var pair = Pair()
        pair.client.start(at: address("https://a.example"), token: "token")
        pair.redirect(to: uri)
        #expect(pair.startResults.map { $0.failure?.status } == [.capacity])
        #expect(pair.disconnect() == nil)
    }

    @Test("a redirection of a client whose token is refused is not followed")
    func unauthorizedRedirection() {
        var pair = Pair()
        pair.client.start(at: home, token: "token")
        pair.redirect(to: "ws://b.example/ws", status: "unauthorized")
        #expect(pair.startResults.map { $0.failure?.status } == [.unauthorized])
    }

    @Test("redirections in a loop end, and there are at most three in a row")
    func redirectionLoop() {
        var loop = Pair()
        loop.client.start(at: home, token: "token")
        loop.redirect(to: "ws://b.example/ws")
        #expect(loop.disconnect() == .zero)
        loop.redirect(to: "ws://a.example/ws")
        #expect(loop.startResults.map { $0.failure?.status } == [.capacity])

        var chain = Pair()
        chain.client.start(at: home, token: "token")
        for name in ["b", "c", "d"] {
            chain.redirect(to: "ws://\(name).example/ws")
            #expect(chain.disconnect() == .zero)
        }
        chain.redirect(to: "ws://e.example/ws")
        #expect(chain.startResults.map { $0.failure?.status } == [.capacity])
    }

    @Test("a client that cannot follow a redirection, or loses the other node, connects to its platform again")
    func unreachableNode() {
        var pair = Pair()
        pair.goOnline()
        #expect(pair.disconnect() == .zero)
        pair.redirect(to: "ws://b.example/ws")
        #expect(pair.disconnect() == .zero)
        // The other node cannot be reached.
        #expect(pair.disconnect() != nil)
        #expect(pair.client.platform == home)
        pair.redirect(to: "ws://b.example/ws")
        #expect(pair.disconnect() == .zero)
        pair.connect()
        pair.exchange()
        pair.answerAuthentication(session: "session-b")
        // A node that is started again is tried for three seconds.
        #expect(pair.disconnect() == .zero)
        #expect(pair.disconnect(isRefused: true) != nil)
        #expect(pair.client.platform == address("http://b.example"))
        pair.now = pair.now + .seconds(3)
        #expect(pair.disconnect(isRefused: true) != nil)
        #expect(pair.client.platform == home)
    }

    @Test("the first connection is not retried")
    func firstConnectionFails() {
        var pair = Pair()
        pair.client.start(at: home, token: "token")
        pair.client.request(setup(), ticket: 1, at: pair.now)
        #expect(pair.disconnect() == nil)
        #expect(pair.startResults.count == 1)
        #expect(pair.answers.keys.sorted() == [1])
        #expect(pair.client.phase == .idle)
    }

    @Test("requests fail with the status of the session's state")
    func statusOfState() {
        var pair = Pair()
        pair.client.request(setup(), ticket: 1, at: pair.now)
        pair.goOnline()
        _ = pair.disconnect()
        pair.client.request(setup(), ticket: 2, at: pair.now)
        pair.client.stop(forGood: true)
        pair.client.request(setup(), ticket: 3, at: pair.now)
        pair.drainClient()
        let statuses = pair.answers.mapValues { result -> RequestStatus in
            if case .failure(let error) = result { error.status } else { .ok }
        }
        #expect(statuses == [2: .notReady, 3: .gone])
    }

    @Test("an unanswered request fails with a timeout once")
    func unansweredRequest() {
        var pair = Pair()
        pair.goOnline()
        pair.client.request(setup(), ticket: 4, at: pair.now)
        pair.drainClient()
        pair.flight = []
        pair.client.advance(to: pair.now + .seconds(11))
        pair.client.advance(to: pair.now + .seconds(12))
        pair.drainClient()
        let answers = pair.received.compactMap { output -> RequestStatus? in
            if case .answered(4, .failure(let error)) = output { error.status } else { nil }
        }
        #expect(answers == [.timeout])
    }

    @Test("a stop during the start fails the start and the pending requests")
    func stopDuringStart() {
        var pair = Pair()
        pair.client.start(at: home, token: "token")
        pair.client.request(setup(), ticket: 1, at: pair.now)
        pair.client.stop(forGood: false)
        pair.drainClient()
        #expect(pair.startResults.count == 1)
        #expect(pair.answers.count == 1)
        #expect(pair.events == [.authenticated(.notStarted, nil)])
        #expect(pair.disconnect() == nil)
        pair.client.stop(forGood: true)
        pair.client.stop(forGood: true)
        pair.drainClient()
        #expect(pair.startResults.count == 1)
    }

    @Test("an authentication response after a stop starts nothing", arguments: [true, false])
    func aLateAuthenticationBeginsNothing(forGood: Bool) {
        for wasOnline in [true, false] {
            var pair = Pair()
            if wasOnline {
                pair.goOnline()
                #expect(pair.disconnect() != nil)
            } else {
                pair.client.start(at: home, token: "token")
            }
            pair.connect()
            pair.exchange()
            pair.client.stop(forGood: forGood)
            pair.drainClient()
            pair.received = []
            pair.answerAuthentication(session: "session-1")
            #expect(pair.received.isEmpty)
            #expect(pair.client.phase == (forGood ? .shutDown : .idle))
            #expect(pair.client.sessionID == nil)
            #expect(pair.disconnect() == nil)
        }
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
