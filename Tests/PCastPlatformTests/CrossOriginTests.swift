import Testing

@Suite struct CrossOriginTests {
    @Test(
        "preflights for POST, PATCH and DELETE pass without a token",
        arguments: [
            ("/whip", "POST"), ("/whep", "POST"), ("/whep/stream-x", "POST"), ("/whip/resource/x", "PATCH"),
            ("/whip/resource/x", "DELETE"), ("/whep/resource/x", "PATCH"), ("/whep/resource/x", "DELETE"),
            ("/whep/resource/x/clock", "GET"), ("/pcast/names/events", "GET"),
        ])
    func preflightsNeedNoToken(path: String, method: String) async throws {
        try await TestPlatform.run(host: "0.0.0.0") { platform in
            let answer = try await platform.send(
                "OPTIONS", path,
                [
                    "Origin": "https://player.example", "Access-Control-Request-Method": method,
                    "Access-Control-Request-Headers": "authorization,content-type,if-match",
                ])
            #expect(answer.status == 204)
            #expect(answer.header("Access-Control-Allow-Origin") == "*")
            #expect(answer.header("Access-Control-Allow-Methods")?.contains(method) == true)
            #expect(answer.header("Access-Control-Allow-Headers") == "Authorization, Content-Type, If-Match")
        }
    }

    @Test(
        "answers expose their headers, also on errors",
        arguments: [
            ("POST", "/whip", 401), ("POST", "/whep/stream-x", 401), ("GET", "/whip", 204), ("PUT", "/whip", 405),
            ("DELETE", "/whip/resource/x", 404), ("DELETE", "/whep/resource/x", 404), ("GET", "/whip/a/b/c", 404),
        ])
    func errorsExposeHeaders(method: String, path: String, status: Int) async throws {
        try await TestPlatform.run(host: "0.0.0.0") { platform in
            let answer = try await platform.send(
                method, path, ["Content-Type": "application/sdp", "Origin": "https://player.example"],
                body: method == "POST" ? try Offers.viewer() : nil)
            #expect(answer.status == status)
            #expect(answer.header("Access-Control-Allow-Origin") == "*")
            let exposed = try #require(answer.header("Access-Control-Expose-Headers"))
            for name in ["Location", "Link", "ETag", "Accept-Patch"] { #expect(exposed.contains(name)) }
        }
    }

    @Test("a successful answer exposes its headers") func successExposesHeaders() async throws {
        try await TestPlatform.run { platform in
            let token = try Tokens.publishing()
            let answer = try await platform.post(
                "/whip", try Offers.publisher(), token: token, headers: ["Origin": "https://player.example"])
            #expect(answer.status == 201)
            #expect(answer.header("Access-Control-Expose-Headers")?.contains("Location") == true)
        }
    }

    @Test(
        "preflights of Phenix's Web SDK pass without a token",
        arguments: [
            ("/pcast/endPoints?version=2020-07-15T04:01:43Z&_=1", "GET", "content-type"),
            ("/pcast/endPoint", "GET", "content-type"), ("/telemetry/metrics", "POST", "content-type"),
            ("/telemetry/logs", "POST", "content-type"),
        ])
    func phenixPreflight(path: String, method: String, header: String) async throws {
        try await TestPlatform.run { platform in
            let answer = try await platform.send(
                "OPTIONS", path,
                [
                    "Origin": "https://player.example", "Access-Control-Request-Method": method,
                    "Access-Control-Request-Headers": header,
                ])
            #expect(answer.status == 204)
            #expect(answer.header("Access-Control-Allow-Origin") == "*")
            #expect(answer.header("Access-Control-Allow-Methods")?.contains(method) == true)
            #expect(answer.header("Access-Control-Allow-Headers")?.lowercased().contains(header) == true)
        }
    }

    @Test(
        "pages of other sites can read the platform's address and errors of these routes",
        arguments: [
            ("GET", "/pcast/endPoints", 200), ("GET", "/pcast/endPoint", 200), ("PUT", "/pcast/endPoints", 405),
            ("GET", "/telemetry/metrics", 405), ("POST", "/telemetry/other", 404),
        ])
    func openRoutes(method: String, path: String, status: Int) async throws {
        try await TestPlatform.run { platform in
            let answer = try await platform.send(method, path, ["Origin": "https://player.example"])
            #expect(answer.status == status)
            #expect(answer.header("Access-Control-Allow-Origin") == "*")
        }
    }

    @Test(
        "pages of other sites receive nothing else",
        arguments: ["/", "/pcast/streams", "/metrics", "/pcast/endPointsAndMore"])
    func otherEndpointsAreClosed(path: String) async throws {
        try await TestPlatform.run { platform in
            let answer = try await platform.send("GET", path, ["Origin": "https://player.example"])
            #expect(answer.header("Access-Control-Allow-Origin") == nil)
        }
    }
}
