import PCastCore
import PCastSignaling
import Testing

@Suite struct ServerConversationTests {
    private var server = ServerSignalingMachine(at: at(0))
    private var client = ClientSignalingMachine()

    init() { client.handle(.connected, at: at(0)) }

    /// Sends a request. Returns the server's outputs.
    private mutating func say(_ request: SignalingRequest, at now: Instant = at(0)) -> [ServerSignalingMachine.Output] {
        _ = client.request(request, at: now)
        for case .send(let frame) in client.pollAll() { server.handle(.received(frame), at: now) }
        return server.pollAll()
    }

    /// Returns the responses that the client reads from the server's output.
    private mutating func hear(_ outputs: [ServerSignalingMachine.Output]) -> [SignalingResponse] {
        for case .send(let frame) in outputs { client.handle(.received(frame), at: at(0)) }
        return client.pollAll().compactMap {
            if case .answered(_, .success(let response)) = $0 { response } else { nil }
        }
    }

    /// Returns the ID of the request that the server passes on as its only output.
    private mutating func handedOut(_ request: SignalingRequest) throws -> SignalingRequestID {
        let outputs = say(request)
        guard outputs.count == 1, case .request(let id, request) = outputs[0] else {
            throw Surprise(outputs: outputs)
        }
        return id
    }

    private struct Surprise: Error {
        let outputs: [ServerSignalingMachine.Output]
    }

    private mutating func authenticate() throws {
        let id = try handedOut(Samples.authenticate())
        server.handle(.respond(id, Samples.authenticated(.ok)), at: at(0))
        _ = hear(server.pollAll())
    }

    /// Returns the reason of the `mq.Error` in a frame.
    private func errorReason(_ output: ServerSignalingMachine.Output?) throws -> String? {
        guard case .send(let frame)? = output else { return nil }
        let response = try frame.response()
        return response.type == "mq.Error" ? String(decoding: response.payload.dropFirst(2), as: UTF8.self) : nil
    }

    @Test("a request for a room with an unknown role or without a field is read, so that it gets a status")
    mutating func unknownRole() throws {
        try authenticate()
        // alias "a", and a member with the role 9: fields 2 and 4, in which field 3.
        let payload: [UInt8] = [0x12, 1, 0x61, 0x22, 2, 0x18, 9]
        server.handle(.received(Samples.request("chat.JoinRoom", id: "C7", payload: payload)), at: at(0))
        let outputs = server.pollAll()
        guard outputs.count == 1, case .request(let id, .joinRoom(let message)) = outputs[0] else {
            throw Surprise(outputs: outputs)
        }
        #expect(message.alias == "a")
        #expect(!message.member.hasRole)
        server.handle(.respond(id, SignalingRequest.joinRoom(message).response(.badRequest)), at: at(0))
        guard case .send(let frame)? = server.poll() else { throw Surprise(outputs: []) }
        let response = try frame.response()
        #expect(response.requestID == "C7")
        #expect(response.type == "chat.JoinRoomResponse")
    }

    @Test("an event of a room reaches the client") mutating func roomEvent() throws {
        try authenticate()
        var event = ChatRoomEvent()
        event.roomID = "r"
        event.eventType = .memberLeft
        server.handle(.event(.room(event)), at: at(0))
        for case .send(let frame) in server.pollAll() { client.handle(.received(frame), at: at(0)) }
        let outputs = client.pollAll()
        guard case .event(.room(let received))? = outputs.first else {
            Issue.record("there is no event")
            return
        }
        #expect(received == event)
    }

    @Test("an event for many clients is the message of each, in the form that the client uses")
    mutating func sharedEvent() throws {
        let shared = SharedSignalingEvent(Samples.streamEnded)
        // Field 2, request ID: “9”; field 3, type: “x”; field 5, payload: empty.
        let unknown: [UInt8] = [0x12, 1, 0x39, 0x1A, 1, 0x78, 0x2A, 0]
        let frames = [SignalingFrame.text(String(decoding: unknown, as: UTF8.self)), .binary(unknown)]
        for frame in frames + frames {
            // The platform answers in the form of the last message.
            server.handle(.received(frame), at: at(0))
            _ = server.pollAll()
            server.handle(.event(Samples.streamEnded), at: at(0))
            let single = server.pollAll()
            server.handle(.sharedEvent(shared), at: at(0))
            #expect(server.pollAll() == single)
            guard case .send(let sent)? = single.first else { throw Surprise(outputs: single) }
            #expect(sent.form == frame.form)
        }
    }

    @Test("a request is delivered, and its response is sent")
    mutating func requestAndResponse() throws {
        let id = try handedOut(Samples.authenticate())
        #expect(!server.isAuthenticated)
        server.handle(.respond(id, Samples.authenticated(.ok)), at: at(0))
        #expect(server.isAuthenticated)
        #expect(hear(server.pollAll()) == [Samples.authenticated(.ok)])
        server.handle(.respond(id, Samples.authenticated(.ok)), at: at(0))
        #expect(server.pollAll().isEmpty)
    }

    @Test("every request before the authentication is unauthorized")
    mutating func requestsBeforeAuthentication() {
        #expect(hear(say(Samples.setupStream())) == [Samples.setupStream().response(.unauthorized)])
        #expect(hear(say(Samples.bye)) == [Samples.bye.response(.unauthorized)])
    }

    @Test("a stream can be set up together with the authentication")
    mutating func pipelinedSetup() throws {
        let authentication = try handedOut(Samples.authenticate())
        #expect(say(Samples.setupStream()).isEmpty)
        server.handle(.respond(authentication, Samples.authenticated(.ok)), at: at(0))
        let outputs = server.pollAll()
        guard outputs.count == 2, case .send = outputs[0], case .request(let setup, Samples.setupStream()) = outputs[1]
        else {
            Issue.record("\(outputs)")
            return
        }
        server.handle(.respond(setup, Samples.setupStream().response(.ok)), at: at(0))
        #expect(
            hear(outputs + server.pollAll())
                == [Samples.authenticated(.ok), Samples.setupStream().response(.ok)])
    }

    @Test("requests after a rejected authentication are rejected")
    mutating func requestsAfterRejection() throws {
        let authentication = try handedOut(Samples.authenticate())
        _ = say(Samples.setupStream())
        server.handle(.respond(authentication, Samples.authenticated(.unauthorized)), at: at(0))
        #expect(
            hear(server.pollAll())
                == [Samples.authenticated(.unauthorized), Samples.setupStream().response(.unauthorized)])
        #expect(!server.isAuthenticated)
    }

    @Test("a second authentication during the first is a conflict")
    mutating func concurrentAuthentication() {
        _ = say(Samples.authenticate())
        #expect(hear(say(Samples.authenticate())) == [Samples.authenticated(.conflict)])
    }

    @Test("a rejected second authentication does not affect pending requests")
    mutating func rejectedSecondAuthentication() throws {
        try authenticate()
        let setup = try handedOut(Samples.setupStream())
        let second = try handedOut(Samples.authenticate(token: "DIGEST:z"))
        server.handle(.respond(second, Samples.authenticated(.unauthorized)), at: at(0))
        server.handle(.respond(setup, Samples.setupStream().response(.ok)), at: at(0))
        #expect(
            hear(server.pollAll())
                == [Samples.authenticated(.unauthorized), Samples.setupStream().response(.ok)])
    }

    @Test("an unknown message is answered with an error")
    mutating func unknownMessages() throws {
        server.handle(.received(Samples.request("pcast.Nonsense")), at: at(0))
        #expect(try errorReason(server.poll()) == "unknown type")
        #expect(server.malformedCount == 0)
        server.handle(.received(Samples.request("pcast.Bye", payload: [0x0A])), at: at(0))
        #expect(try errorReason(server.poll()) == "malformed payload")
        #expect(server.malformedCount == 1)
        _ = say(Samples.authenticate())
        server.handle(.received(Samples.request("pcast.Bye", payload: [0x0A, 1, 0x73, 0x12, 1, 0x72])), at: at(0))
        #expect(try errorReason(server.poll()) == "the request ID is in use")
    }

    @Test("sixteen malformed messages end the session")
    func malformedMessageLimit() {
        var server = server
        let malformed = [
            SignalingFrame.text("*"), .binary([1]), Samples.request("pcast.Bye", id: ""),
            Samples.request("pcast.Bye", id: String(repeating: "1", count: 65)),
        ]
        for index in 0..<15 { server.handle(.received(malformed[index % 4]), at: at(0)) }
        #expect(server.pollAll().isEmpty && server.malformedCount == 15)
        server.handle(.received(.text("*")), at: at(0))
        #expect(server.pollAll() == [.close(.malformed)])
        server.handle(.received(Samples.request("pcast.Nonsense")), at: at(0))
        server.advance(to: at(100_000))
        #expect(server.pollAll().isEmpty && server.deadline == nil)
    }

    @Test("a request beyond 64 open ones is rate-limited")
    mutating func openRequestLimit() throws {
        try authenticate()
        let frames = (0..<65).map { Samples.request("pcast.DestroyStream", id: "x\($0)", payload: [0x0A, 1, 0x6F]) }
        for frame in frames { server.handle(.received(frame), at: at(0)) }
        let outputs = server.pollAll()
        #expect(outputs.count == 65)
        #expect(outputs.dropLast().allSatisfy { if case .request = $0 { true } else { false } })
        #expect(
            outputs.last
                == .send(
                    Samples.response(
                        "pcast.DestroyStreamResponse", id: "x64", payload: [0x0A, 12] + "rate-limited".utf8)))
    }

    @Test("a request that is not answered times out")
    mutating func requestTimeout() throws {
        try authenticate()
        let id = try handedOut(Samples.setupStream())
        #expect(server.deadline == at(10_000))
        server.advance(to: at(10_000))
        let outputs = server.pollAll()
        #expect(outputs.first == .expired(id))
        #expect(hear(outputs) == [Samples.setupStream().response(.timeout)])
        server.handle(.respond(id, Samples.setupStream().response(.ok)), at: at(10_001))
        #expect(server.pollAll().isEmpty)
    }

    @Test("responses and errors have message type 1, and events have 2, in field 7 of mq.Message")
    mutating func messageTypes() throws {
        func kinds(_ outputs: [ServerSignalingMachine.Output]) throws -> [MQResponse.MessageType] {
            try outputs.compactMap { if case .send(let frame) = $0 { try frame.response().messageType } else { nil } }
        }
        let id = try handedOut(Samples.authenticate())
        server.handle(.respond(id, Samples.authenticated(.ok)), at: at(0))
        #expect(try kinds(server.pollAll()) == [.response])
        server.handle(.event(Samples.streamEnded), at: at(0))
        let event = server.pollAll()
        #expect(try kinds(event) == [.event])
        // Field 2, request ID: “9”; field 3, type: “x”; field 5, payload: empty.
        let unknown: [UInt8] = [0x12, 1, 0x39, 0x1A, 1, 0x78, 0x2A, 0]
        server.handle(.received(.binary(unknown)), at: at(0))
        let error = server.pollAll()
        #expect(try kinds(error) == [.response])
        // The bytes of the field: its number times eight, then its value.
        for (outputs, value) in [(event, UInt8(2)), (error, 1)] {
            guard case .send(let frame)? = outputs.first else { throw Surprise(outputs: outputs) }
            let bytes =
                switch frame {
                case .binary(let bytes): bytes
                case .text(let text): try #require(Base64.decode(text))
                }
            #expect(bytes.suffix(2) == [7 << 3, value])
        }
    }

    @Test("an authentication that is not answered rejects the requests that wait for it")
    mutating func unansweredAuthentication() throws {
        let id = try handedOut(Samples.authenticate())
        _ = say(Samples.setupStream())
        server.advance(to: at(10_000))
        let outputs = server.pollAll()
        #expect(outputs.first == .expired(id) && outputs.count == 3)
        #expect(
            hear(outputs) == [Samples.authenticated(.timeout), Samples.setupStream().response(.unauthorized)])
    }

    @Test("a Bye is answered before the connection is closed")
    mutating func byeResponse() throws {
        try authenticate()
        let id = try handedOut(Samples.bye)
        server.handle(.respond(id, Samples.bye.response(.ok)), at: at(0))
        let outputs = server.pollAll()
        #expect(outputs.count == 2 && outputs.last == .close(.bye))
        #expect(hear(outputs) == [Samples.bye.response(.ok)])
    }

    @Test("a ping before the authentication is answered")
    mutating func pingBeforeAuthentication() {
        let ping = Samples.request("mq.PingPong", id: "7", payload: [0x08, 42, 0x10, 3])
        server.handle(.received(ping), at: at(0))
        #expect(server.pollAll() == [.send(Samples.response("mq.PingPong", id: "7", payload: [0x08, 42, 0x10, 3]))])
    }

    @Test("a response has the frame type of its request")
    mutating func frameTypeOfResponse() {
        server.handle(.received(.binary(Samples.byeEnvelope)), at: at(0))
        guard case .send(.binary)? = server.poll() else {
            Issue.record("the response is not binary")
            return
        }
        server.handle(.received(.text(Base64.encode(Samples.byeEnvelope))), at: at(0))
        guard case .send(.text)? = server.poll() else {
            Issue.record("the response is not text")
            return
        }
    }

    @Test("a client that does not authenticate within 30 s is disconnected")
    func authenticationTimeout() {
        var server = server
        server.handle(.activity, at: at(29_000))
        server.advance(to: at(29_999))
        #expect(server.pollAll() == [.ping])
        #expect(server.deadline == at(30_000))
        server.advance(to: at(30_000))
        #expect(server.pollAll() == [.close(.unauthenticated)])
    }

    @Test("a ping is sent every 25 s, and a minute of silence ends the session")
    mutating func pingIntervalAndSilenceLimit() throws {
        try authenticate()
        var events: [String] = []
        while let deadline = server.deadline {
            server.advance(to: deadline)
            events += server.pollAll().map { "\(Int(deadline.nanoseconds / 1_000_000_000)) \($0)" }
            if deadline == at(25_000) { server.handle(.activity, at: at(25_040)) }
        }
        #expect(events.map { $0.prefix(2) } == ["25", "50", "75", "85"])
        #expect(events.last?.hasSuffix("unresponsive)") == true)
    }

    @Test("any message keeps the connection alive")
    mutating func keptAliveByMessages() throws {
        try authenticate()
        server.handle(.received(Samples.request("mq.PingPong", payload: [0x08, 1])), at: at(40_000))
        server.advance(to: at(99_999))
        #expect(!server.pollAll().contains(.close(.unresponsive)))
        server.advance(to: at(100_000))
        #expect(server.pollAll() == [.close(.unresponsive)])
    }

    @Test("an unauthenticated conversation ends 30 s after its beginning, for any number of attempts")
    mutating func attempts() throws {
        var time: Int64 = 0
        var ends: [ServerSignalingMachine.Output] = []
        while ends.isEmpty, time < 120_000 {
            server.advance(to: at(time))
            _ = client.request(Samples.authenticate(), at: at(time))
            for case .send(let frame) in client.pollAll() { server.handle(.received(frame), at: at(time)) }
            for output in server.pollAll() {
                if case .request(let id, _) = output {
                    server.handle(.respond(id, Samples.authenticated(.unauthorized)), at: at(time))
                }
                if case .close = output { ends.append(output) }
            }
            time += 5_000
        }
        #expect(ends == [.close(.unauthenticated)])
        #expect(time == 35_000)
    }

    @Test("a session that fails to authenticate again has 30 s from the first failure")
    mutating func attemptsLater() throws {
        try authenticate()
        for time in stride(from: Int64(50_000), through: 75_000, by: 5_000) {
            server.handle(.activity, at: at(time))
            server.advance(to: at(time))
            _ = client.request(Samples.authenticate(), at: at(time))
            for case .send(let frame) in client.pollAll() { server.handle(.received(frame), at: at(time)) }
            for output in server.pollAll() {
                guard case .request(let id, _) = output else { continue }
                server.handle(.respond(id, Samples.authenticated(.unauthorized)), at: at(time))
            }
            _ = server.pollAll()
        }
        server.advance(to: at(80_000))
        #expect(server.pollAll().last == .close(.unauthenticated))
    }

    @Test("a ping is answered with its two numbers, and a large one is invalid") mutating func largePings() throws {
        let unknown = [0x7A] + [0xA0, 0x8D, 0x06] + [UInt8](repeating: 0x78, count: 100_000)
        server.handle(.received(Samples.request("mq.PingPong", payload: [0x08, 1] + unknown)), at: at(0))
        let outputs = server.pollAll()
        #expect(outputs.count == 1)
        #expect(try errorReason(outputs.first) == "malformed payload")
        guard case .send(let frame)? = outputs.first, case .text(let text) = frame else {
            Issue.record("\(outputs)")
            return
        }
        #expect(text.utf8.count < 1_000)
    }
}
