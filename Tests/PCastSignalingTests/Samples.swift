import FoundationEssentials
import PCastCore
import PCastSignaling
import Testing

/// Messages of the tests, and their encoding.
enum Samples {
    static func authenticate(token: String = "DIGEST:x") -> SignalingRequest {
        var message = PCastAuthenticate()
        message.clientVersion = "1"
        message.deviceID = "d"
        message.platform = "Linux"
        message.platformVersion = "6"
        message.authenticationToken = token
        return .authenticate(message)
    }

    static func authenticated(_ status: RequestStatus, sessionID: String = "s") -> SignalingResponse {
        var message = PCastAuthenticateResponse()
        message.status = status.wire
        if status == .ok { message.sessionID = sessionID }
        return .authenticate(message)
    }

    static func setupStream(sessionID: String = "") -> SignalingRequest {
        var message = PCastSetupStream()
        message.streamToken = "DIGEST:y"
        message.createStream = PCastCreateStream()
        message.createStream.sessionID = sessionID
        message.createStream.originStreamID = "o"
        return .setupStream(message)
    }

    static let bye: SignalingRequest = {
        var message = PCastBye()
        message.sessionID = "s"
        message.reason = "r"
        return .bye(message)
    }()

    static let streamEnded: SignalingEvent = {
        var message = PCastStreamEnded()
        message.sessionID = "s"
        message.streamID = "o"
        message.reason = "ended"
        return .streamEnded(message)
    }()

    /// `pcast.Bye {sessionId: "s", reason: "r"}` as request 1: field 2 "1", field 3 its type, field 5 its bytes.
    static let byeEnvelope: [UInt8] =
        [0x12, 1, 0x31, 0x1A, 9] + Array("pcast.Bye".utf8) + [0x2A, 6, 0x0A, 1, 0x73, 0x12, 1, 0x72]

    /// `pcast.ByeResponse {status: "ok"}` to request 1.
    static let byeResponseEnvelope: [UInt8] =
        [0x12, 1, 0x31, 0x1A, 17] + Array("pcast.ByeResponse".utf8) + [0x2A, 4, 0x0A, 2, 0x6F, 0x6B]

    static func request(_ type: String, id: String = "1", payload: [UInt8] = []) -> SignalingFrame {
        var envelope = MQRequest()
        envelope.requestID = id
        envelope.type = type
        envelope.payload = Data(payload)
        return SignalingFrame(envelope, form: .text)
    }

    static func response(_ type: String, id: String = "1", payload: [UInt8] = []) -> SignalingFrame {
        var envelope = MQResponse()
        envelope.requestID = id
        envelope.messageType = .response
        envelope.type = type
        envelope.payload = Data(payload)
        return SignalingFrame(envelope, form: .text)
    }
}

extension Machine where Self: Copyable {
    /// Returns all pending outputs.
    mutating func pollAll() -> [Output] {
        var outputs: [Output] = []
        while let output = poll() { outputs.append(output) }
        return outputs
    }
}

/// A small generator with a reproducible sequence (Knuth's MMIX).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state ^ state >> 29) &* 0x9E37_79B9_7F4A_7C15
    }
}

/// Returns the time this many milliseconds after the beginning of a test.
func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: 0) + .milliseconds(milliseconds) }

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

/// Both halves of the conversation, connected to each other.
@Suite struct ConversationTests {
    @Test("every request is answered exactly once, whatever is lost", arguments: 1...20 as ClosedRange<UInt64>)
    func oneAnswerPerRequest(seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        var client = ClientSignalingMachine(form: seed % 2 == 0 ? .text : .binary)
        var server = ServerSignalingMachine(at: at(0))
        var asked: Set<SignalingRequestID> = []
        var answered: [SignalingRequestID] = []
        var open: [(SignalingRequestID, SignalingRequest)] = []
        client.handle(.connected, at: at(0))
        for step in 0..<2_000 {
            let now = at(Int64(step) * 50)
            switch Int.random(in: 0..<100, using: &generator) {
            case 0:
                client.handle(.disconnected, at: now)
                client.handle(.connected, at: now)
                server = ServerSignalingMachine(at: now)
                open = []
            case 1..<10: asked.insert(client.request(Samples.authenticate(), at: now))
            case 10..<40: asked.insert(client.request(Samples.setupStream(), at: now))
            case 40..<80 where !open.isEmpty:
                let (id, request) = open.remove(at: Int.random(in: open.indices, using: &generator))
                server.handle(.respond(id, request.response(.ok)), at: now)
            default: break
            }
            client.advance(to: now)
            server.advance(to: now)
            for output in client.pollAll() {
                switch output {
                case .send(let frame) where Int.random(in: 0..<20, using: &generator) > 0:
                    server.handle(.received(frame), at: now)
                case .answered(let id, _): answered.append(id)
                default: break
                }
            }
            for output in server.pollAll() {
                switch output {
                case .send(let frame) where Int.random(in: 0..<20, using: &generator) > 0:
                    client.handle(.received(frame), at: now)
                case .request(let id, let request): open.append((id, request))
                default: break
                }
            }
        }
        client.handle(.disconnected, at: at(1_000_000))
        for case .answered(let id, _) in client.pollAll() { answered.append(id) }
        #expect(answered.count == asked.count)
        #expect(Set(answered) == asked)
    }
}
