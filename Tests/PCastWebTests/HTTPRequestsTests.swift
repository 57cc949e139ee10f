import PCastWeb
import Testing

@Suite struct HTTPRequestsTests {
    @Test("a request's method, headers and body arrive, and its response is returned") func roundTrip() async throws {
        try await TestServer.run { server in
            let answer = try await HTTPRequests.send(
                "POST", server.uri + "/length", headers: [("X-Test", "1")], body: [UInt8](repeating: 7, count: 1000),
                within: .seconds(600))
            #expect(answer.status == 200)
            #expect(answer.body == Array("1000".utf8))
            #expect(try await HTTPRequests.send("GET", server.uri + "/none", within: .seconds(600)).status == 404)
        }
    }

    @Test("a redirection is followed, or returned to the caller") func redirections() async throws {
        try await TestServer.run { server in
            let uri = server.uri + "/moved"
            let followed = try await HTTPRequests.send("GET", uri, within: .seconds(600))
            #expect(followed.status == 200 && followed.body == Array("hello".utf8))
            #expect(followed.redirectedURI == server.uri + "/hello")
            let answer = try await HTTPRequests.send("GET", uri, within: .seconds(600), followsRedirections: false)
            #expect(answer.status == 302 && answer.location == "/hello" && answer.redirectedURI == nil)
        }
    }

    @Test("the time limit covers the content of a response, which a server may not complete", .timeLimit(.minutes(10)))
    func stalledContent() async throws {
        try await TestServer.run { server in
            let uri = server.uri + "/stalled"
            await #expect(throws: WebError.self) { try await HTTPRequests.send("GET", uri, within: .seconds(1)) }
            await #expect(throws: UpstreamRequests.Failure.self) {
                try await UpstreamRequests.get(uri, acceptsGzip: false, within: .seconds(1), admit: { _ in true })
            }
        }
    }

    @Test("a missing server is an error with a sentence") func unreachable() async throws {
        let error = await #expect(throws: WebError.self) { try await HTTPRequests.send("GET", "http://127.0.0.1:1/") }
        #expect("\(try #require(error))".hasPrefix("no platform responds at http://127.0.0.1:1/"))
    }
}
