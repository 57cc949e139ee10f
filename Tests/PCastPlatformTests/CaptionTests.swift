import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import PCastCore
import PCastIO
import PCastSignaling
import Testing

@testable import PCastPlatform

/// Captions: publishers send them, and viewers receive them.
@Suite("Captions") struct CaptionTests {
    /// The maximum duration of a caption. A caption with it stays current while a test runs.
    private static let longest = Duration.seconds(600)

    /// Returns a caption relative to a time.
    private static func cue(
        _ text: String, in milliseconds: Int64 = 0, of now: WallTime = MonotonicClock.wallTime(),
        lasting: Duration = longest
    ) -> CaptionCue {
        CaptionCue(text: text, captureTime: now + .milliseconds(milliseconds), duration: lasting)
    }

    /// Returns a request, with its time. The client's clock is ahead by some time.
    private static func send(
        _ cues: [CaptionCue], to stream: String, at now: WallTime = MonotonicClock.wallTime(), ahead: TimeSpan = .zero
    ) -> SignalingRequest {
        var message = PCastSendCaptions()
        message.streamID = stream
        message.timestamp = (now + ahead).wire
        message.cues = cues.map { cue in
            PCastCaptionCue(
                CaptionCue(text: cue.text, captureTime: cue.captureTime + ahead, duration: cue.duration))
        }
        return .sendCaptions(message)
    }

    /// Waits for a text that a client receives.
    private static func receives(_ client: ProtocolClient, _ text: String, of view: String) async throws -> Bool {
        try await eventually {
            await client.captions.contains { $0.streamID == view && $0.cues.contains { $0.text == text } }
        }
    }

    @Test("A viewer receives the captions of its stream, those that are current when it joins and the later ones")
    func delivery() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { publisher async throws in
                _ = try await publisher.authenticate()
                let stream = try #require(try await publisher.setUp(try Requests.publish()))
                let other = try #require(try await publisher.setUp(try Requests.publish()))
                let begin = MonotonicClock.now()
                let early = Self.cue("early", in: 2_000)
                #expect(try await publisher.ask(Self.send([early], to: stream)) == .ok)
                #expect(try await publisher.ask(Self.send([Self.cue("of another")], to: other)) == .ok)
                try await ProtocolClient.run(platform) { viewer async throws in
                    let session = try #require(try await viewer.authenticate())
                    let asks = try Requests.view(origin: stream, options: ["captions"])
                    let view = try #require(try await viewer.setUp(asks))
                    let silent = try #require(try await viewer.setUp(try Requests.view(origin: stream)))
                    #expect(try await Self.receives(viewer, "early", of: view))
                    let late = [Self.cue("late\n<b>&", in: 500), Self.cue("later", in: 900)]
                    #expect(try await publisher.ask(Self.send(late, to: stream)) == .ok)
                    #expect(try await Self.receives(viewer, "later", of: view))

                    let received = await viewer.captions
                    #expect(received.allSatisfy { $0.sessionID == session && $0.streamID == view })
                    #expect(silent != view)
                    let cues = received.flatMap(\.cues)
                    #expect(cues.map(\.text) == ["early", "late\n<b>&", "later"])
                    // Both clocks are this machine's, so the times differ by the delay of a request at most. The wire
                    // has milliseconds.
                    let delay = MonotonicClock.now() - begin + .milliseconds(2)
                    for (cue, sent) in zip(cues, [early] + late) {
                        let received = try #require(CaptionCue(cue))
                        #expect((received.captureTime - sent.captureTime).magnitude <= delay)
                        #expect(received.duration == Self.longest)
                    }
                    let now = MonotonicClock.wallTime()
                    let last = try #require(received.last)
                    let said = try #require(WallTime(wire: last.timestamp))
                    #expect((said - now).magnitude <= MonotonicClock.now() - begin + .milliseconds(2))
                }
            }
        }
    }

    @Test("The clock of a publisher that is an hour ahead is converted to the platform's")
    func clock() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client async throws in
                _ = try await client.authenticate()
                let stream = try #require(try await client.setUp(try Requests.publish()))
                let view = try #require(
                    try await client.setUp(try Requests.view(origin: stream, options: ["captions"])))
                let begin = MonotonicClock.now()
                let cue = Self.cue("an hour ahead")
                #expect(try await client.ask(Self.send([cue], to: stream, ahead: .seconds(3_600))) == .ok)
                #expect(try await Self.receives(client, cue.text, of: view))
                let received = try #require(await client.captions.last?.cues.last.flatMap { CaptionCue($0) })
                // The difference is the delay of the request. The wire has milliseconds.
                let delay = MonotonicClock.now() - begin + .milliseconds(2)
                #expect((received.captureTime - cue.captureTime).magnitude <= delay)
            }
        }
    }

    @Test("A client that resumes its session receives the current captions again")
    func resumption() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { publisher async throws in
                _ = try await publisher.authenticate()
                let stream = try #require(try await publisher.setUp(try Requests.publish()))
                var names: [String] = []
                let kept = Names()
                try await ProtocolClient.run(platform) { viewer async throws in
                    let session = try #require(try await viewer.authenticate())
                    let asks = try Requests.view(origin: stream, options: ["captions"])
                    await kept.keep([session, try #require(try await viewer.setUp(asks))])
                }
                names = await kept.names
                #expect(try await publisher.ask(Self.send([Self.cue("meanwhile")], to: stream)) == .ok)
                let (session, view) = (names[0], names[1])
                try await ProtocolClient.run(platform) { viewer async throws in
                    #expect(try await viewer.authenticate(session: session) == session)
                    #expect(try await Self.receives(viewer, "meanwhile", of: view))
                }
            }
        }
    }

    private actor Names {
        private(set) var names: [String] = []
        func keep(_ names: [String]) { self.names = names }
    }

    @Test("Only the session that publishes a stream may send its captions")
    func rights() async throws {
        try await TestPlatform.run { platform in
            let (foreign, _) = try await platform.publish()
            try await ProtocolClient.run(platform) { client async throws in
                let cues = [Self.cue("x")]
                #expect(try await client.ask(Self.send(cues, to: foreign)) == .unauthorized)
                _ = try await client.authenticate()
                #expect(try await client.ask(Self.send(cues, to: foreign)) == .gone)
                let view = try #require(try await client.setUp(try Requests.view(origin: foreign)))
                #expect(try await client.ask(Self.send(cues, to: view)) == .gone)
                #expect(try await client.ask(Self.send(cues, to: "stream-none")) == .gone)
            }
        }
    }

    @Test("Captions beyond the limits are refused, and none of the request is sent")
    func limits() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client async throws in
                _ = try await client.authenticate()
                let stream = try #require(try await client.setUp(try Requests.publish()))
                #expect(try await client.ask(Self.send([Self.cue("early")], to: stream)) == .ok)
                let view = try #require(
                    try await client.setUp(try Requests.view(origin: stream, options: ["captions"])))
                // The current captions follow the response, so later ones are not among them.
                #expect(try await Self.receives(client, "early", of: view))
                // The request and its captions have given times, because the limit is relative to the request's time.
                let now = MonotonicClock.wallTime()
                let good = Self.cue("good", of: now)
                let bad: [[CaptionCue]] = [
                    [], Array(repeating: good, count: 17), [good, Self.cue(" ", of: now)],
                    [good, Self.cue("a\u{0}", of: now)],
                    [good, Self.cue(String(repeating: "x", count: 1_025), of: now)],
                    [good, Self.cue(String(repeating: "\n", count: 8) + "x", of: now)],
                    [good, Self.cue("x", of: now, lasting: .zero)],
                    [good, Self.cue("x", of: now, lasting: Self.longest + .milliseconds(1))],
                    [good, Self.cue("x", in: 60_001, of: now)], [good, Self.cue("x", in: -60_001, of: now)],
                ]
                for cues in bad {
                    let request = Self.send(cues, to: stream, at: now)
                    guard case .sendCaptions(let answer)? = try await client.response(request) else {
                        Issue.record("no answer")
                        continue
                    }
                    #expect(answer.status == "bad-request" && answer.refusalReason?.isEmpty == false, "\(cues.count)")
                }
                var late = PCastSendCaptions()
                (late.streamID, late.timestamp) = (stream, .max)
                late.cues = [PCastCaptionCue(good)]
                #expect(try await client.ask(.sendCaptions(late)) == .badRequest)
                late.timestamp = good.captureTime.wire
                late.cues[0].captureTime = .max
                #expect(try await client.ask(.sendCaptions(late)) == .badRequest)
                late.cues[0] = PCastCaptionCue(good)
                late.cues[0].duration = .max
                #expect(try await client.ask(.sendCaptions(late)) == .badRequest)

                let farthest = [Self.cue("first", in: -60_000, of: now), Self.cue("last", in: 60_000, of: now)]
                #expect(try await client.ask(Self.send(farthest, to: stream, at: now)) == .ok)
                #expect(try await Self.receives(client, "last", of: view))
                #expect(await client.captions.flatMap(\.cues).map(\.text) == ["early", "first", "last"])
            }
        }
    }

    @Test("More than 50 captions at once are rate-limited, and ten per second are accepted")
    func rate() throws {
        var track = CaptionTrack()
        var now = Instant(nanoseconds: 5_000_000_000)
        for _ in 0..<5 { try track.count(10, at: now) }
        do throws(APIError) {
            try track.count(1, at: now)
            Issue.record("it was counted")
        } catch {
            #expect(error.kind == .rateLimited && error.retryAfter == .milliseconds(100))
        }
        now += .milliseconds(100)
        try track.count(1, at: now)
        #expect(throws: APIError.self) { try track.count(1, at: now) }
        now += .seconds(60)
        // A pause is no credit.
        for _ in 0..<5 { try track.count(10, at: now) }
        #expect(throws: APIError.self) { try track.count(1, at: now) }
    }

    @Test("A stream keeps its newest 64 captions until 15 s after their end")
    func retention() {
        var track = CaptionTrack()
        let now = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)
        let cues = (0..<70).map { number in
            CaptionCue(
                text: "\(number)", captureTime: now + .milliseconds(number * 10), duration: .milliseconds(1_000))
        }
        track.add(cues, at: now)
        #expect(track.current(at: now).map(\.text) == (6..<70).map { "\($0)" })
        #expect(track.current(at: now + .seconds(16) + .milliseconds(600)).map(\.text) == (60..<70).map { "\($0)" })
        #expect(track.current(at: now + .seconds(17)).isEmpty)
        track.add([], at: now + .seconds(17))
        #expect(track.current(at: now).isEmpty)
    }

    @Test("A page receives captions as server-sent events")
    func events() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { publisher async throws in
                _ = try await publisher.authenticate()
                let stream = try #require(try await publisher.setUp(try Requests.publish()))
                #expect(try await publisher.ask(Self.send([Self.cue("current", in: 2_000)], to: stream)) == .ok)
                let answer = try await platform.post("/whep/\(stream)", try Offers.viewer())
                let link = try #require(answer.headers["Link"].first { $0.contains("server-sent-events") })
                let response = try await HTTPClient.shared.execute(
                    HTTPClientRequest(url: platform.uri + link.dropFirst().prefix { $0 != ">" }), timeout: .minutes(10))
                var text = ""
                for try await bytes in response.body {
                    let before = text
                    text += String(buffer: bytes)
                    if text.contains("current"), !before.contains("current") {
                        #expect(try await publisher.ask(Self.send([Self.cue("a \"line\"\nmore")], to: stream)) == .ok)
                    }
                    if text.contains("more"), text.hasSuffix("\n\n") { break }
                }
                let events = text.split(separator: "\n\n").filter { !$0.hasPrefix(":") }
                #expect(events.count == 3 && events[0].hasPrefix("event: data-quality"))
                for event in events.dropFirst() {
                    #expect(event.hasPrefix("event: captions\ndata: {") && event.hasSuffix("}"))
                    #expect(event.contains("\"timestamp\":") && event.contains("\"duration\":600000"))
                }
                #expect(events.last?.contains(#""text":"a \"line\"\nmore""#) == true)
            }
        }
    }
}
