import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import PCastCore
import PCastIO
import PCastSFU
import Testing

@testable import PCastPlatform

/// The recent history of a stream.
@Suite struct StreamHistoryTests {
    private func figures(
        _ stream: String = "stream-a", bitrate: Int64? = 1_000_000, packets: Int = 0, lost: Int = 0, viewers: Int = 0
    ) -> StreamMetrics {
        var figures = StreamMetrics(stream: StreamID(stream))
        figures.bitrate = bitrate.map { Bitrate(bitsPerSecond: $0) }
        figures.received.packets = packets
        figures.received.packetsLost = lost
        figures.viewers = viewers
        return figures
    }

    private func time(_ second: Int64) -> WallTime {
        WallTime(millisecondsSinceEpoch: 1_800_000_000_000 + second * 1_000)
    }

    @Test("the history keeps the last five minutes, the oldest first") func bound() {
        var history = StreamHistory()
        for second in 0..<1_000 { history.add(figures(bitrate: Int64(second)), at: time(Int64(second))) }
        let samples = history.samples(after: time(-1))
        #expect(samples.count == 300)
        #expect(samples.map { $0.bitrate?.bitsPerSecond } == (700..<1_000).map { Int64($0) })
        #expect(samples.map(\.time) == (700..<1_000).map { time($0) })
        #expect(history.last == samples.last)
        #expect(history.samples(after: time(997)).map(\.time) == [time(998), time(999)])
        #expect(history.samples(after: time(999)).isEmpty)
    }

    @Test("an unknown value stays unknown, and each second has one sample") func unknown() throws {
        var history = StreamHistory()
        #expect(history.last == nil && history.samples(after: time(0)).isEmpty)
        history.add(figures(bitrate: nil), at: time(1))
        history.add(figures(bitrate: 5), at: time(1) + .milliseconds(900))
        let sample = try #require(history.last)
        #expect(sample.bitrate == nil && sample.roundTrip == nil)
        #expect(history.samples(after: time(0)).count == 1)
    }

    @Test("metrics keep their values, and too large ones become the largest") func values() throws {
        var history = StreamHistory()
        var given = figures(bitrate: 1 << 40, viewers: 70_000)
        given.roundTrip = .milliseconds(1_234)
        given.quality = DataQuality(status: .audioOnly, reason: .uploadLimited)
        let size = Dimensions(width: 1_280, height: 720)
        given.dimensions = size
        given.video = CodecParameters(.vp9(profile: 2), bitDepth: 10, dimensions: size)
        history.add(given, at: time(1))
        let sample = try #require(history.last)
        #expect(sample.bitrate?.bitsPerSecond == Int64(UInt32.max - 1))
        #expect(sample.viewers == 70_000 && sample.roundTrip == .milliseconds(1_234))
        #expect(sample.quality == given.quality && history.dimensions == given.dimensions)
        #expect(history.video == given.video)
    }

    @Test("loss is that of the last second only") func loss() throws {
        var history = StreamHistory()
        history.add(figures(packets: 100, lost: 100), at: time(1))
        #expect(history.last?.loss == 0.5)
        history.add(figures(packets: 190, lost: 110), at: time(2))
        #expect(history.last?.loss == 0.1)
        history.add(figures(packets: 190, lost: 105), at: time(3))
        #expect(history.last?.loss == 0, "corrected losses do not reduce the counter")
    }

    @Test("a clock that was set back starts a new history") func clock() {
        var history = StreamHistory()
        for second in 0..<400 { history.add(figures(), at: time(Int64(second))) }
        history.add(figures(bitrate: 7), at: time(50))
        history.add(figures(bitrate: 8), at: time(51))
        #expect(history.samples(after: time(0)).map { $0.bitrate?.bitsPerSecond } == [7, 8])
    }

    @Test("streams that ended are removed, and new ones beyond the maximum have no history") func all() {
        let histories = StreamHistoryStore()
        let many = (0...StreamHistoryStore.capacity).map { figures("stream-\($0)") }
        histories.note(many, at: time(1))
        #expect(histories.history(of: StreamID("stream-0")) != nil)
        #expect(histories.history(of: StreamID("stream-\(StreamHistoryStore.capacity)")) == nil)
        histories.note([figures("stream-0"), many[StreamHistoryStore.capacity]], at: time(2))
        #expect(histories.history(of: StreamID("stream-0"))?.samples(after: time(0)).count == 2)
        #expect(histories.history(of: StreamID("stream-1")) == nil)
        #expect(histories.history(of: many[StreamHistoryStore.capacity].stream)?.samples(after: time(0)).count == 1)
    }
}

/// The events of WHIP and WHEP sessions as server-sent events.
@Suite struct StreamEventsTests {
    /// Returns the address of the events that an answer links to.
    private func address(of answer: TestPlatform.Response, isViewer: Bool = false) throws -> String {
        let link = try #require(answer.headers["Link"].first { $0.contains("server-sent-events") })
        #expect(link.contains("rel=\"urn:ietf:params:whep:ext:core:server-sent-events\""))
        #expect(link.contains("events=\"data-quality,ended\(isViewer ? ",captions,active," : ",second-codec\"")"))
        return String(link.dropFirst().prefix { $0 != ">" })
    }

    @Test("the first row is the current one, and the events end with the session", arguments: ["/whip", "/whep"])
    func events(endpoint: String) async throws {
        try await TestPlatform.run { platform in
            _ = try await platform.publish()
            let answer = try await platform.post(
                endpoint, endpoint == "/whip" ? try Offers.publisher() : try Offers.viewer())
            let location = try #require(answer.header("Location"))
            let response = try await HTTPClient.shared.execute(
                HTTPClientRequest(url: platform.uri + (try address(of: answer, isViewer: endpoint == "/whep"))),
                timeout: .minutes(10))
            #expect(response.status == .ok)
            #expect(response.headers.first(name: "Content-Type") == "text/event-stream")
            #expect(response.headers.first(name: "Access-Control-Allow-Origin") == "*")
            var text = ""
            var isDeleted = false
            for try await bytes in response.body {
                text += String(buffer: bytes)
                guard text.contains("\n\n"), !isDeleted else { continue }
                isDeleted = true
                // The event after the first one is the end.
                #expect(try await platform.send("DELETE", location).status == 200)
            }
            // The platform sends a comment every 15 s.
            let events = text.replacing(":\n\n", with: "")
            #expect(
                events == "event: data-quality\ndata: {\"status\":\"all\",\"reason\":\"none\"}\n\n"
                    + "event: ended\ndata: {\"reason\":\"ended\"}\n\n")
        }
    }

    @Test("an unknown session has no events, and other methods answer 405")
    func others() async throws {
        try await TestPlatform.run { platform in
            #expect(try await platform.send("GET", "/whep/resource/nothing/events").status == 404)
            let answer = try await platform.post("/whip", try Offers.publisher())
            let address = try address(of: answer)
            #expect(try await platform.send("POST", address, body: "[]").status == 405)
        }
    }

    @Test("a platform that stops ends the events")
    func stopping() async throws {
        let (bodies, received) = AsyncStream.makeStream(of: HTTPClientResponse.self)
        try await TestPlatform.run { platform in
            let answer = try await platform.post("/whip", try Offers.publisher())
            received.yield(
                try await HTTPClient.shared.execute(
                    HTTPClientRequest(url: platform.uri + (try address(of: answer))), timeout: .hours(1)))
        }
        let response = try #require(await bodies.first { _ in true })
        let text = String(buffer: try await response.body.collect(upTo: 1 << 10))
        #expect(text.hasPrefix("event: data-quality\n"))
    }
}
