import FoundationEssentials
import PCastCore
import PCastSignaling
import Testing

@Suite struct SignalingFrameTests {
    @Test("a request is an envelope of the package mq")
    func requestEnvelope() throws {
        let frame = Samples.request("pcast.Bye", payload: [0x0A, 1, 0x73, 0x12, 1, 0x72])
        #expect(frame == .text("EgExGglwY2FzdC5CeWUqBgoBcxIBcg=="))
        #expect(frame == .text(Base64.encode(Samples.byeEnvelope)))
        let request = try frame.request()
        #expect(try SignalingFrame.binary(Samples.byeEnvelope).request() == request)
        #expect(SignalingFrame(request, form: .binary) == .binary(Samples.byeEnvelope))
        #expect(request.requestID == "1" && request.type == "pcast.Bye" && request.payload.count == 6)
    }

    @Test("unknown fields are ignored")
    func unknownFields() throws {
        let frame = SignalingFrame.binary(Samples.byeEnvelope + [0x98, 0x06, 0x2A])
        #expect(try frame.request().type == "pcast.Bye")
    }

    @Test("an unreadable frame is rejected with the reason")
    func unreadableFrames() {
        #expect(throws: SignalingFrameError.notBase64) { try SignalingFrame.text("*").request() }
        #expect(throws: SignalingFrameError.notAnEnvelope) { try SignalingFrame.text("").request() }
        #expect(throws: SignalingFrameError.notAnEnvelope) { try SignalingFrame.binary([0x12]).response() }
        #expect(throws: SignalingFrameError.notAnEnvelope) {
            try SignalingFrame.binary([0x1A, 1, 0x78, 0x2A, 0]).response()
        }
    }

    @Test("a frame has at most 256 KiB")
    func frameSizeLimit() throws {
        let frame = { (count: Int) in
            SignalingFrame.binary([0x1A, 0, 0x2A, 0xF7, 0xFF, 0x0F] + [UInt8](repeating: 0, count: count))
        }
        #expect(try frame(262_135).request().payload.count == 262_135)
        let large = SignalingFrame.binary([UInt8](repeating: 0, count: 262_145))
        #expect(throws: SignalingFrameError.tooLarge(byteCount: 262_145)) { try large.request() }
        let text = SignalingFrame.text(String(repeating: "A", count: 262_148))
        #expect(throws: SignalingFrameError.tooLarge(byteCount: 262_148)) { try text.response() }
    }

    @Test("a truncated envelope is rejected")
    func truncatedEnvelope() {
        for length in Samples.byeEnvelope.indices {
            // Every shorter message is incomplete, because the payload is required.
            #expect(throws: SignalingFrameError.notAnEnvelope) {
                try SignalingFrame.binary(Array(Samples.byeEnvelope[..<length])).request()
            }
        }
    }

    @Test("mutated bytes never trap")
    func mutatedBytes() {
        var generator = SeededGenerator(state: 3)
        var server = ServerSignalingMachine(at: at(0))
        var client = ClientSignalingMachine()
        client.handle(.connected, at: at(0))
        for _ in 0..<5_000 {
            var request = Samples.byeEnvelope
            request[Int.random(in: request.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            server.handle(.received(.binary(request)), at: at(0))
            if server.pollAll().contains(.close(.malformed)) { server = ServerSignalingMachine(at: at(0)) }
            _ = client.request(Samples.bye, at: at(0))
            var response = Samples.byeResponseEnvelope
            response[Int.random(in: response.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            client.handle(.received(.binary(response)), at: at(0))
            _ = client.pollAll()
        }
        #expect(client.malformedCount > 4_000)
    }
}

@Suite struct RequestStatusWireTests {
    @Test("every status is read as it was written", arguments: RequestStatus.allCases)
    func statusRoundTrip(status: RequestStatus) {
        #expect(RequestStatus(wire: status.wire) == status)
    }

    @Test(
        "each status word of the platform has its status",
        arguments: [
            ("ok", RequestStatus.ok), ("unauthorized", .unauthorized), ("bad-token", .unauthorized),
            ("no-stream-playing", .noStreamPlaying), ("origin-stream-not-found", .noStreamPlaying),
            ("origin-stream-ended", .noStreamPlaying), ("streaming-not-ready", .notReady), ("not-found", .gone),
            ("unsupported-features", .badRequest), ("rate-limited", .rateLimited), ("capacity", .capacity),
            ("", .failed), ("OK", .failed), ("no-such-word", .failed),
        ])
    func platformStatusWords(text: String, status: RequestStatus) {
        #expect(RequestStatus(wire: text) == status)
    }

    @Test("a response with a status alone has the type of its request")
    func statusOnlyResponse() {
        let response = Samples.setupStream().response(.noStreamPlaying)
        var expected = PCastSetupStreamResponse()
        expected.status = "no-stream-playing"
        #expect(response == .setupStream(expected))
        #expect(response.status == .noStreamPlaying)
        #expect(response.typeName == "pcast.SetupStreamResponse")
        #expect(Samples.setupStream().typeName == "pcast.SetupStream")
    }

    @Test("tokens are never printed")
    func tokensAreNotPrinted() {
        var dumped = "\(Samples.setupStream()) \([Samples.authenticate()])"
        dump(Samples.authenticate(), to: &dumped)
        #expect(dumped.hasPrefix("pcast.SetupStream [pcast.Authenticate]"))
        #expect(!dumped.contains("DIGEST"))
    }

    @Test("a rejection may state its reason")
    func rejectionReason() {
        let refusal = PCastSetupStreamResponse(refusal: "bad-request", because: "No such thing.")
        #expect(refusal.status == "bad-request" && refusal.createStreamResponse.status == "bad-request")
        #expect(!refusal.createStreamResponse.hasStreamID)
        #expect(refusal.refusalReason == "No such thing.")
        let long = PCastSetupStreamResponse(refusal: "failed", because: String(repeating: "x", count: 5_000))
        #expect(long.refusalReason?.count == 400)
        #expect(PCastSetupStreamResponse().refusalReason == nil)
    }
}
