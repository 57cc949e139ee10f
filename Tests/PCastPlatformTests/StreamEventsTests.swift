import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import PCastCore
import PCastIO
import Testing

/// The events of WHIP and WHEP sessions as server-sent events.
@Suite struct StreamEventsTests {
    /// Returns the address of the events that an answer links to.
    private func address(of answer: TestPlatform.CallbackResult, isViewer: Bool = false) throws -> String {
        let link = try #require(answer.headers["Link"].first { $0.contains("server-sent-events") })
        #expect(link.contains("rel=\"urn:ietf:params:whep:ext:core:server-sent-events\""))
        #expect(link.contains("events=\"data-quality,ended\(isViewer ? ",captions" : "")\""))
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
                timeout: .seconds(60))
            #expect(response.status == .ok)
            #expect(response.headers.first(name: "Content-Type") == "text/event-stream")
            #expect(response.headers.first(name: "Access-Control-Allow-Origin") == "*")
            var text = ""
            for try await bytes in response.body {
                text += String(buffer: bytes)
                guard text.contains("\n\n"), !text.contains("event: ended") else { continue }
                // The event after the first one is the end.
                #expect(try await platform.send("DELETE", location).status == 200)
            }
            #expect(
                text == "event: data-quality\ndata: {\"status\":\"all\",\"reason\":\"none\"}\n\n"
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
                    HTTPClientRequest(url: platform.uri + (try address(of: answer))), timeout: .seconds(60)))
        }
        let response = try #require(await bodies.first { _ in true })
        let text = String(buffer: try await response.body.collect(upTo: 1 << 10))
        #expect(text.hasPrefix("event: data-quality\n"))
    }
}
