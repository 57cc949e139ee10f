import PCastCore
import PCastSignaling
import Testing

@Suite struct RequestStatusWireTests {
    @Test(arguments: RequestStatus.allCases)
    func everyStatusIsReadAsItWasWritten(status: RequestStatus) {
        #expect(RequestStatus(wire: status.wire) == status)
    }

    @Test(arguments: [
        ("ok", RequestStatus.ok), ("unauthorized", .unauthorized), ("bad-token", .unauthorized),
        ("no-stream-playing", .noStreamPlaying), ("origin-stream-not-found", .noStreamPlaying),
        ("origin-stream-ended", .noStreamPlaying), ("streaming-not-ready", .notReady), ("not-found", .gone),
        ("unsupported-features", .badRequest), ("rate-limited", .rateLimited), ("capacity", .capacity),
        ("", .failed), ("OK", .failed), ("no-such-word", .failed),
    ])
    func wordsOfThePlatformHaveTheirStatus(text: String, status: RequestStatus) {
        #expect(RequestStatus(wire: text) == status)
    }

    @Test func aResponseThatTellsAStatusAloneIsOfTheRequestsName() {
        let response = Samples.setupStream().response(.noStreamPlaying)
        var expected = PCastSetupStreamResponse()
        expected.status = "no-stream-playing"
        #expect(response == .setupStream(expected))
        #expect(response.status == .noStreamPlaying)
        #expect(response.typeName == "pcast.SetupStreamResponse")
        #expect(Samples.setupStream().typeName == "pcast.SetupStream")
    }

    @Test func tokensAreNeverPrinted() {
        var dumped = "\(Samples.setupStream()) \([Samples.authenticate()])"
        dump(Samples.authenticate(), to: &dumped)
        #expect(dumped.hasPrefix("pcast.SetupStream [pcast.Authenticate]"))
        #expect(!dumped.contains("DIGEST"))
    }

    @Test func aRefusalMaySayWhy() {
        let refusal = PCastSetupStreamResponse(refusal: "bad-request", because: "No such thing.")
        #expect(refusal.status == "bad-request" && refusal.createStreamResponse.status == "bad-request")
        #expect(!refusal.createStreamResponse.hasStreamID)
        #expect(refusal.refusalReason == "No such thing.")
        let long = PCastSetupStreamResponse(refusal: "failed", because: String(repeating: "x", count: 5_000))
        #expect(long.refusalReason?.count == 400)
        #expect(PCastSetupStreamResponse().refusalReason == nil)
    }
}
