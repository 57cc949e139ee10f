import FoundationEssentials
import PCastCore
import PCastEdgeAuth
import Testing

@Suite struct AdministrationTests {
    private func basic(_ id: String, _ secret: String) -> [String: String] {
        ["Authorization": "Basic \(Base64.encode(Array("\(id):\(secret)".utf8)))"]
    }

    private struct List: Decodable {
        struct Stream: Decodable {
            let streamId: String
            let tags: [String]
            let startTime: Int64
            let viewers: Int
            let hasMedia: Bool
        }
        let status: String
        let streams: [Stream]
    }

    private func list(_ platform: TestPlatform, _ credentials: [String: String]) async throws -> List {
        let answer = try await platform.send("GET", "/pcast/streams", credentials)
        #expect(answer.status == 200)
        #expect(answer.header("Content-Type") == "application/json")
        return try JSONDecoder().decode(List.self, from: Data(answer.body.utf8))
    }

    @Test("the list of streams contains those of the application only") func ownStreams() async throws {
        try await TestPlatform.run { platform in
            let token = try Tokens.make { $0.forPublishingOnly().applyTag("red").applyTag("live") }
            let (stream, _) = try await platform.publish(token: token)
            #expect(try await platform.post("/whep", try Offers.viewer(), token: try Tokens.viewing()).status == 201)
            let own = try await list(platform, basic("first", "sesame"))
            #expect(own.status == "ok")
            #expect(own.streams.map(\.streamId) == [stream])
            #expect(own.streams.first?.tags == ["red", "live"])
            #expect(own.streams.first?.viewers == 1)
            #expect(own.streams.first?.hasMedia == false)
            #expect(try await list(platform, basic("second", "treasure")).streams.isEmpty)
        }
    }

    @Test(
        "wrong credentials answer 401 with a challenge, on this machine too",
        arguments: [
            ("first", "wrong"), ("first", ""), ("first", "sesam"), ("first", "sesames"), ("second", "sesame"),
            ("third", "\u{0}"), ("", ""),
        ])
    func wrongCredentials(id: String, secret: String) async throws {
        try await TestPlatform.run { platform in
            let (stream, _) = try await platform.publish()
            let listed = try await platform.send("GET", "/pcast/streams", basic(id, secret))
            #expect(listed.status == 401)
            #expect(listed.header("WWW-Authenticate") == "Basic realm=\"pcast\"")
            let ended = try await platform.send(
                "DELETE", "/pcast/stream", basic(id, secret), body: #"{"streamId":"\#(stream)"}"#)
            #expect(ended.status == 401)
            #expect(try await platform.figure("pcast_streams") == 1)
        }
    }

    @Test("invalid credentials answer 401", arguments: ["", "Basic", "Basic ???", "Basic Zmlyc3Q=", "Bearer x"])
    func brokenCredentials(authorization: String) async throws {
        try await TestPlatform.run { platform async throws in
            let headers = authorization.isEmpty ? [:] : ["Authorization": authorization]
            #expect(try await platform.send("GET", "/pcast/streams", headers).status == 401)
        }
    }

    @Test("ending a stream gives publisher and viewer the reason") func censored() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client in
                _ = try await client.authenticate()
                let stream = try #require(try await client.setUp(try Requests.publish()))
                let view = try #require(try await client.setUp(try Requests.view(origin: stream)))
                let body = #"{"streamId":"\#(stream)","reason":"censored"}"#
                let foreign = try await platform.send(
                    "DELETE", "/pcast/stream", basic("second", "treasure"), body: body)
                #expect(foreign.status == 404)
                let answer = try await platform.send("DELETE", "/pcast/stream", basic("first", "sesame"), body: body)
                #expect(answer.status == 200)
                #expect(answer.body == #"{"status":"ok"}"#)
                #expect(try await client.reason(view) == "censored")
                #expect(try await client.reason(stream) == "censored")
                #expect(
                    try await platform.send("DELETE", "/pcast/stream", basic("first", "sesame"), body: body).status
                        == 404)
            }
        }
    }

    @Test("invalid requests to end a stream answer 400", arguments: ["", "nonsense", "{}", "[]", #"{"streamId":7}"#])
    func unreadable(body: String) async throws {
        try await TestPlatform.run { platform in
            let answer = try await platform.send("DELETE", "/pcast/stream", basic("first", "sesame"), body: body)
            #expect(answer.status == 400)
        }
    }

    @Test("/healthz reports a healthy platform") func health() async throws {
        try await TestPlatform.run { platform in
            let answer = try await platform.send("GET", "/healthz")
            #expect(answer.status == 200)
            #expect(answer.body == #"{"status":"ok"}"#)
        }
    }

    @Test("/metrics has Prometheus' text format, version 0.0.4") func metrics() async throws {
        try await TestPlatform.run { platform in
            _ = try await platform.publish()
            let answer = try await platform.send("GET", "/metrics")
            #expect(answer.status == 200)
            #expect(answer.header("Content-Type")?.hasPrefix("text/plain; version=0.0.4") == true)
            #expect(answer.body.hasSuffix("\n"))
            var types: [Substring: Substring] = [:]
            var values: [Substring: Double] = [:]
            for line in answer.body.split(separator: "\n") {
                let words = line.split(separator: " ")
                if line.hasPrefix("# TYPE") { types[words[2]] = words[3] }
                if !line.hasPrefix("#") { values[words[0].prefix { $0 != "{" }] = Double(words[1]) }
            }
            let parts = ["_bucket", "_sum", "_count"]
            let histograms = types.filter { $0.value == "histogram" }.keys.flatMap { name in
                parts.map { "\(name)\($0)" }
            }
            let plain = types.filter { $0.value != "histogram" }.keys.map { String($0) }
            #expect(Set(plain + histograms) == Set(values.keys.map { String($0) }))
            #expect(values["pcast_streams"] == 1)
            #expect(answer.body.contains("pcast_stream_viewers{application=\"first\",stream="))
            #expect(answer.body.contains(",status=\"all\",reason=\"none\"} 1\n"))
            #expect(answer.body.contains(",hop=\"publisher\"} 0\n"))
            #expect(values["pcast_viewers"] == 0)
            #expect(types["pcast_packets_forwarded_total"] == "counter")
        }
    }
}
