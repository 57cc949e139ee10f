import PCastCore
import PCastSignaling
import Testing

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
