import PCastCore
import PCastSignaling
import Testing

@Suite struct ClientConversationTests {
    private var client = ClientSignalingMachine()

    init() { client.handle(.connected, at: at(0)) }

    @Test("a request has a number, and the response with this number answers it")
    mutating func numberedRequest() {
        let id = client.request(Samples.bye, at: at(0))
        #expect(id.number == 1)
        #expect(client.pollAll() == [.send(.text(Base64.encode(Samples.byeEnvelope)))])
        #expect(client.deadline == at(10_000))
        client.handle(.received(.binary(Samples.byeResponseEnvelope)), at: at(20))
        #expect(client.pollAll() == [.answered(id, .success(Samples.bye.response(.ok)))])
        #expect(client.request(Samples.bye, at: at(20)).number == 2)
    }

    @Test("only the first response to a request counts")
    mutating func repeatedResponse() {
        _ = client.request(Samples.bye, at: at(0))
        client.handle(.received(.binary(Samples.byeResponseEnvelope)), at: at(0))
        _ = client.pollAll()
        client.handle(.received(.binary(Samples.byeResponseEnvelope)), at: at(0))
        #expect(client.pollAll().isEmpty)
        #expect(client.malformedCount == 1)
    }

    @Test("a request without a response fails with a timeout after 10 s")
    mutating func responseTimeout() {
        let id = client.request(Samples.bye, at: at(5))
        _ = client.pollAll()
        client.advance(to: at(10_004))
        #expect(client.pollAll().isEmpty)
        client.advance(to: at(10_005))
        #expect(client.pollAll() == [.answered(id, .failure(.timeout))])
        client.handle(.received(.binary(Samples.byeResponseEnvelope)), at: at(10_006))
        #expect(client.pollAll().isEmpty)
        #expect(SignalingFailure.timeout.status == .timeout)
    }

    @Test("after the loss of the connection, pending and later requests fail")
    mutating func lostConnection() {
        let first = client.request(Samples.bye, at: at(0))
        _ = client.pollAll()
        client.handle(.disconnected, at: at(1))
        #expect(client.pollAll() == [.answered(first, .failure(.disconnected))])
        let second = client.request(Samples.bye, at: at(2))
        #expect(client.pollAll() == [.answered(second, .failure(.disconnected))])
        #expect(client.deadline == nil)
        client.handle(.received(.binary(Samples.byeResponseEnvelope)), at: at(3))
        #expect(client.pollAll().isEmpty && client.malformedCount == 0)
        client.handle(.connected, at: at(4))
        #expect(client.request(Samples.bye, at: at(5)).number == 3)
        #expect(client.pollAll().count == 1)
    }

    @Test("a request beyond 64 pending ones fails at once")
    mutating func pendingRequestLimit() {
        for _ in 0..<64 { _ = client.request(Samples.bye, at: at(0)) }
        #expect(client.pollAll().count == 64)
        let id = client.request(Samples.bye, at: at(0))
        #expect(client.pollAll() == [.answered(id, .failure(.tooManyOutstanding))])
    }

    @Test("an error of the envelope rejects the request")
    mutating func envelopeError() {
        let id = client.request(Samples.bye, at: at(0))
        _ = client.pollAll()
        client.handle(.received(Samples.response("mq.Error", payload: [0x0A, 2, 0x6E, 0x6F])), at: at(0))
        #expect(client.pollAll() == [.answered(id, .failure(.refused(reason: "no")))])
    }

    @Test(
        "a response of another type fails the request",
        arguments: [
            Samples.response("pcast.AuthenticateResponse", payload: [0x0A, 2, 0x6F, 0x6B]),
            Samples.response("pcast.ByeResponse"), Samples.response("pcast.ByeResponse", payload: [0xFF]),
            Samples.response("mq.Error"), Samples.response("nonsense"),
        ])
    func mismatchedResponse(frame: SignalingFrame) {
        var client = client
        let id = client.request(Samples.bye, at: at(0))
        _ = client.pollAll()
        client.handle(.received(frame), at: at(0))
        #expect(client.pollAll() == [.answered(id, .failure(.malformedResponse))])
        #expect(client.malformedCount == 1)
    }

    @Test("events arrive without a request")
    mutating func unsolicitedEvents() {
        var server = ServerSignalingMachine(at: at(0))
        server.handle(.event(Samples.streamEnded), at: at(0))
        guard case .send(let frame)? = server.poll() else {
            Issue.record("nothing was sent")
            return
        }
        client.handle(.received(frame), at: at(0))
        #expect(client.pollAll() == [.event(Samples.streamEnded)])
    }

    @Test("a ping is sent every 25 s, and a minute of silence ends the connection")
    mutating func pingIntervalAndSilenceLimit() {
        var pings: [Int64] = []
        var now: Int64 = 0
        while now < 55_000, let deadline = client.deadline, deadline < at(55_000) {
            now = Int64(deadline.nanoseconds / 1_000_000)
            client.advance(to: deadline)
            pings += client.pollAll().map { _ in now }
        }
        #expect(pings == [25_000, 50_000])
        let id = client.request(Samples.bye, at: at(55_000))
        _ = client.pollAll()
        client.advance(to: at(60_000))
        #expect(client.pollAll() == [.answered(id, .failure(.disconnected)), .unresponsive])
        #expect(client.deadline == nil)
    }

    @Test("a pong gives the round-trip time and keeps the connection alive")
    mutating func pongMeasuresRoundTrip() {
        var server = ServerSignalingMachine(at: at(0))
        client.advance(to: at(25_000))
        guard case .send(let ping)? = client.poll() else {
            Issue.record("no ping was sent")
            return
        }
        server.handle(.received(ping), at: at(25_010))
        guard case .send(let pong)? = server.poll() else {
            Issue.record("no pong was sent")
            return
        }
        client.handle(.received(pong), at: at(25_030))
        #expect(client.pollAll() == [.roundTripTime(.milliseconds(30))])
        client.advance(to: at(85_029))
        #expect(!client.pollAll().contains(.unresponsive))
        client.advance(to: at(85_030))
        #expect(client.pollAll().contains(.unresponsive))
    }

    @Test("an unsolicited pong gives no round-trip time")
    mutating func unsolicitedPong() {
        for timestamp in [[0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], [0x08, 5]] as [[UInt8]] {
            client.handle(.received(Samples.response("mq.PingPong", payload: timestamp)), at: at(61_000))
        }
        #expect(client.pollAll().isEmpty && client.malformedCount == 2)
    }
}
