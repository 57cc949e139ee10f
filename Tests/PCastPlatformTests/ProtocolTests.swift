import PCastCore
import PCastIO
import PCastSignaling
import PCastWeb
import Synchronization
import Testing

/// The PCast protocol over a real WebSocket.
@Suite struct ProtocolTests {
    @Test(
        "Authenticate and SetupStream without waiting are answered in order",
        arguments: [SignalingFrame.Form.text, .binary])
    func oneFlight(form: SignalingFrame.Form) async throws {
        try await TestPlatform.run { platform in
            let token = try Tokens.publishing()
            try await ProtocolClient.run(platform, form: form) { client in
                let ids = try await client.send(Requests.authenticate(token), try Requests.publish(token))
                guard case .setupStream(let response)? = try await client.answer(ids[1])?.get() else {
                    Issue.record("SetupStream was not answered")
                    return
                }
                #expect(await client.answered == ids)
                #expect(response.status == "ok")
                #expect(response.createStreamResponse.streamID.hasPrefix("stream-"))
                let answer = response.createStreamResponse.createAnswerDescriptionResponse.sessionDescription
                #expect(answer.type == .answer)
                #expect(answer.sdp.hasPrefix("v=0"))
                #expect(await client.received.allSatisfy { $0.form == form })
            }
        }
    }

    @Test("Authenticate and SetupStream in the request that opens the WebSocket are answered without a frame")
    func inTheRequest() async throws {
        try await TestPlatform.run { platform in
            let token = try Tokens.publishing()
            var conversation = ClientSignalingMachine()
            conversation.handle(.connected, at: MonotonicClock.now())
            for request in [Requests.authenticate(token), try Requests.publish(token)] {
                _ = conversation.request(request, at: MonotonicClock.now())
            }
            var messages: [String] = []
            while case .send(.text(let text))? = conversation.poll() { messages.append(text) }
            #expect(messages.count == 2)
            let first = messages
            let answers = Mutex<[String]>([])
            try await WebSocketClient().connect(to: platform.uri + "/ws", firstMessages: { first }) { connection in
                try await connection.forEachMessage { message in
                    guard case .text(let text) = message else { return }
                    let type = try SignalingFrame.text(text).response().type
                    answers.withLock { $0.append(type) }
                    if answers.withLock({ $0.count }) == 2 { await connection.close() }
                }
            }
            #expect(answers.withLock { $0 } == ["pcast.AuthenticateResponse", "pcast.SetupStreamResponse"])
        }
    }

    @Test("requests after a rejected Authenticate are unauthorized") func refusedFlight() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client in
                let ids = try await client.send(Requests.authenticate("nonsense"), try Requests.publish())
                #expect(try await client.answer(ids[0])?.get().status == .unauthorized)
                #expect(try await client.answer(ids[1])?.get().status == .unauthorized)
                #expect(try await platform.figure("pcast_streams") == 0)
            }
        }
    }

    @Test("without a session everything is unauthorized") func withoutSession() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client async throws in
                #expect(try await client.ask(try Requests.publish(try Tokens.publishing())) == .unauthorized)
                #expect(try await client.ask(Requests.destroy("stream-x", reason: "ended")) == .unauthorized)
            }
        }
    }

    @Test("another client's session ID is unauthorized") func anothersSession() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { one in
                let first = try #require(try await one.authenticate())
                try await ProtocolClient.run(platform) { other in
                    let second = try #require(try await other.authenticate())
                    #expect(first != second)
                    #expect(try await other.ask(try Requests.publish(session: first)) == .unauthorized)
                    #expect(try await other.ask(try Requests.publish(session: second)) == .ok)
                }
            }
        }
    }

    @Test("a session and its streams continue on a new connection") func resumesSessionOnNewConnection() async throws {
        try await TestPlatform.run { platform in
            let kept = Kept()
            try await ProtocolClient.run(platform) { client in
                let session = try #require(try await client.authenticate())
                let stream = try #require(try await client.setUp(try Requests.publish()))
                await kept.keep([session, stream])
            }
            let names = await kept.names
            try await ProtocolClient.run(platform) { client async throws in
                #expect(try await client.authenticate(session: names[0]) == names[0])
                #expect(try await client.ask(Requests.destroy(names[1], reason: "")) == .ok)
                #expect(try await client.reason(names[1]) == "ended")
            }
        }
    }

    private actor Kept {
        private(set) var names: [String] = []
        func keep(_ names: [String]) { self.names = names }
    }

    @Test("another application's session is not resumed, and a new one is opened") func foreignSession() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { one in
                let first = try #require(try await one.authenticate(try Tokens.make()))
                let stream = try #require(try await one.setUp(try Requests.publish(try Tokens.publishing())))
                try await ProtocolClient.run(platform) { other in
                    let token = try Tokens.make(TestPlatform.otherApplication)
                    let second = try #require(try await other.authenticate(token, session: first))
                    #expect(second != first)
                    #expect(try await other.ask(Requests.destroy(stream, reason: "ended")) == .gone)
                }
                #expect(try await platform.figure("pcast_streams") == 1)
            }
        }
    }

    @Test("Bye ends the session's streams, and their viewers are notified") func bye() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { viewer in
                _ = try await viewer.authenticate()
                let view = Kept()
                try await ProtocolClient.run(platform) { publisher in
                    let session = try #require(try await publisher.authenticate())
                    let stream = try #require(try await publisher.setUp(try Requests.publish()))
                    await view.keep([try #require(try await viewer.setUp(try Requests.view(origin: stream)))])
                    #expect(try await publisher.ask(Requests.bye(session)) == .ok)
                    #expect(try await publisher.closes())
                }
                #expect(try await viewer.reason(try #require(await view.names.first)) == "ended")
                #expect(try await platform.reaches("pcast_streams", 0))
                #expect(try await platform.reaches("pcast_viewers", 0))
            }
        }
    }

    @Test(
        "the reason of DestroyStream reaches publisher and viewers",
        arguments: [
            ("ended", "ended"), ("", "ended"), ("app-background", "app-background"), ("lunch at noon", "lunch at noon"),
        ])
    func destroy(reason: String, received: String) async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client in
                _ = try await client.authenticate()
                let stream = try #require(try await client.setUp(try Requests.publish()))
                let view = try #require(try await client.setUp(try Requests.view(origin: stream)))
                #expect(try await client.ask(Requests.destroy(stream, reason: reason)) == .ok)
                #expect(try await client.reason(view) == received)
                #expect(try await client.reason(stream) == received)
                #expect(try await client.ask(Requests.destroy(stream, reason: reason)) == .gone)
            }
        }
    }

    @Test("a client cannot end a stream of another session") func destroyOfAnother() async throws {
        try await TestPlatform.run { platform in
            let (stream, _) = try await platform.publish()
            try await ProtocolClient.run(platform) { client in
                _ = try await client.authenticate()
                #expect(try await client.ask(Requests.destroy(stream, reason: "censored")) == .gone)
                #expect(try await platform.figure("pcast_streams") == 1)
            }
        }
    }

    @Test("an unknown stream answers no-stream-playing, and an invalid offer bad-request")
    func statuses() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client in
                _ = try await client.authenticate()
                #expect(try await client.ask(try Requests.view(origin: "stream-none")) == .noStreamPlaying)
                #expect(try await client.ask(try Requests.view()) == .noStreamPlaying)
                #expect(try await client.ask(Requests.setUp("", offer: "nonsense", origin: nil)) == .badRequest)
                #expect(try await client.ask(.setupStream(PCastSetupStream.minimal)) == .badRequest)
                let foreign = try Offers.foreignCodecs().replacing("recvonly", with: "sendonly")
                #expect(try await client.ask(Requests.setUp("", offer: foreign, origin: nil)) == .badRequest)
            }
        }
    }
}

extension PCastSetupStream {
    /// The required fields only, without an offer.
    fileprivate static var minimal: PCastSetupStream {
        var message = PCastSetupStream()
        message.streamToken = ""
        message.createStream.sessionID = ""
        return message
    }
}
