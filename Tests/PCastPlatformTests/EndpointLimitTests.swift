import PCastCore
import PCastEdgeAuth
import PCastPlatform
import PCastSignaling
import PCastWeb
import Testing

/// The limits at every endpoint.
@Suite struct EndpointLimitTests {
    @Test("a full platform answers capacity at every endpoint, and admits a client when another leaves")
    func capacity() async throws {
        let configure: (inout PlatformConfiguration) -> Void = {
            $0.limits[.streams] = 1
            $0.limits[.viewers] = 1
            $0.limits[.sessions] = 1
        }
        try await TestPlatform.runConfigured(configure: configure) { platform in
            let (stream, publisher) = try await platform.publish()
            let view = try await platform.post("/whep/\(stream)", try Offers.viewer())
            #expect(view.status == 201)
            for (path, offer) in [("/whip", try Offers.publisher()), ("/whep/\(stream)", try Offers.viewer())] {
                let answer = try await platform.post(path, offer)
                #expect(answer.status == 503 && answer.header("Retry-After") != nil, "\(path)")
                #expect(answer.header("Access-Control-Allow-Origin") == "*")
            }
            try await ProtocolClient.run(platform) { client in
                #expect(try await client.authenticate() != nil)
                #expect(try await client.ask(try Requests.publish()) == .capacity)
                #expect(try await client.ask(try Requests.view(origin: stream)) == .capacity)
                try await ProtocolClient.run(platform) { other async throws in
                    #expect(try await other.ask(Requests.authenticate("")) == .capacity)
                }
                #expect(try await platform.send("DELETE", try #require(view.header("Location"))).status == 200)
                #expect(
                    try await eventually { try await client.ask(try Requests.view(origin: stream)) == .ok })
                #expect(try await platform.send("DELETE", publisher).status == 200)
                #expect(try await eventually { try await client.ask(try Requests.publish()) == .ok })
            }
        }
    }

    @Test("rejections are counted by the limit that was reached") func counted() async throws {
        let configure: (inout PlatformConfiguration) -> Void = {
            $0.limits[.streams] = 1
            $0.limits[.viewersPerApplication] = 0
            $0.limits[.bitratePerAddress] = 100_000
            $0.limits[.joinsPerSecond] = 1_000
        }
        try await TestPlatform.runConfigured(configure: configure) { platform in
            for limit in PlatformLimits.Name.allCases {
                let name = #"pcast_requests_rejected_total{limit="\#(limit.rawValue)"}"#
                #expect(try await platform.figure(name) == 0, "\(limit)")
            }
            let (stream, publisher) = try await platform.publish()
            #expect(try await platform.post("/whip", try Offers.publisher()).status == 503)
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer()).status == 503)
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer()).status == 503)
            #expect(try await platform.figure(#"pcast_requests_rejected_total{limit="streams"}"#) == 1)
            #expect(try await platform.figure(#"pcast_requests_rejected_total{limit="viewers-per-application"}"#) == 2)
            #expect(try await platform.figure(#"pcast_requests_rejected_total{limit="viewers"}"#) == 0)
            // A second stream at this address would have less bandwidth than a stream needs.
            var configuration = platform.configuration
            configuration.limits[.streams] = 2
            _ = try await platform.platform.apply(configuration)
            #expect(try await platform.post("/whip", try Offers.publisher()).status == 503)
            #expect(try await platform.figure(#"pcast_requests_rejected_total{limit="bitrate-per-address"}"#) == 1)
            #expect(try await platform.send("DELETE", publisher).status == 200)
        }
    }

    @Test("a returning session keeps its place even without further capacity") func comesBack() async throws {
        try await TestPlatform.runConfigured(configure: { $0.limits[.sessions] = 1 }) { platform in
            try await ProtocolClient.run(platform) { client in
                let session = try #require(try await client.authenticate())
                try await ProtocolClient.run(platform) { again async throws in
                    #expect(try await again.authenticate("", session: session) == session)
                }
            }
        }
    }

    /// Sends requests concurrently, because sequential requests on a busy machine may not exceed a rate.
    static func together<Value: Sendable>(
        _ count: Int, _ ask: @escaping @Sendable () async throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: Value.self) { group in
            for _ in 0..<count { group.addTask { try await ask() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// Sends 20 requests at a time until one is rejected, because a busy machine may need so long for 20 requests that
    /// they are within the rate. Returns all results.
    static func untilLimited<Value: Sendable, Status: Equatable>(
        _ status: any KeyPath<Value, Status> & Sendable, _ rejection: Status,
        _ ask: @escaping @Sendable () async throws -> Value
    ) async throws -> [Value] {
        var results: [Value] = []
        _ = try await eventually {
            results += try await together(20, ask)
            return results.contains { $0[keyPath: status] == rejection }
        }
        return results
    }

    @Test("too many requests are answered with rate-limited at every endpoint, but never at the health route")
    func rateLimited() async throws {
        // The limit is five at once, and one more each second.
        try await TestPlatform.runConfigured(configure: { $0.limits[.requestsPerSecond] = 1 }) { platform in
            let statuses = try await Self.untilLimited(\.self, 429) {
                try await platform.send("GET", "/publish").status
            }
            let accepted = statuses.filter { $0 == 200 }
            #expect(accepted.count >= 5)
            #expect(Set(statuses) == [200, 429])
            let posted = try await Self.untilLimited(\.status, 429) {
                try await platform.post("/whip", try Offers.publisher())
            }
            let limited = try #require(posted.first { $0.status == 429 })
            #expect((limited.header("Retry-After").flatMap { Int($0) } ?? 0) >= 1)
            #expect(limited.header("Access-Control-Allow-Origin") == "*")
            let asked = try await Self.untilLimited(\.status, 429) {
                try await platform.ask("GET", "/pcast/streams")
            }
            let rest = try #require(asked.first { $0.status == 429 })
            #expect(rest.body.contains(#""status":"rate-limited""#))
            #expect(rest.header("Retry-After") != nil)
            for _ in 0..<20 { #expect(try await platform.send("GET", "/healthz").status == 200) }
            // A WebSocket counts as a request.
            let isLimited = try await eventually {
                do {
                    _ = try await Self.together(20) {
                        try await ProtocolClient.run(platform) { client in
                            guard try await client.authenticate() != nil else { throw CancellationError() }
                        }
                    }
                    return false
                } catch {
                    return true
                }
            }
            #expect(isLimited)
        }
    }

    @Test("sessions, streams and views are started within their rate at every endpoint") func joins() async throws {
        try await TestPlatform.runConfigured(configure: { $0.limits[.joinsPerSecond] = 1 }) { platform in
            try await ProtocolClient.run(platform) { client in
                _ = try #require(try await client.authenticate())
                let statuses = try await Self.untilLimited(\.self, .rateLimited) {
                    try await client.ask(try Requests.publish())
                }
                let accepted = statuses.filter { $0 == .ok }
                #expect(accepted.count >= 4)
                #expect(Set(statuses) == [.ok, .rateLimited])
            }
        }
    }

    @Test("behind a trusted proxy each client has its own limits, and tokens apply to the client's address")
    func proxied() async throws {
        let configure: (inout PlatformConfiguration) -> Void = {
            $0.limits[.streamsPerAddress] = 1
            $0.trustedProxies = [IPNetwork("127.0.0.1")!]
        }
        try await TestPlatform.runConfigured(configure: configure) { platform in
            let token = try Tokens.make { $0.forPublishingOnly().forRemoteAddress("192.0.2.1") }
            func publish(_ address: String, _ token: String) async throws -> Int {
                try await platform.post(
                    "/whip", try Offers.publisher(), token: token, headers: ["X-Forwarded-For": address]
                ).status
            }
            let any = try Tokens.publishing()
            #expect(try await publish("192.0.2.7", token) == 401)
            #expect(try await publish("192.0.2.1", token) == 201)
            #expect(try await publish("192.0.2.1", any) == 503)
            #expect(try await publish("192.0.2.1, 192.0.2.2", any) == 201)
            #expect(try await publish("192.0.2.9, 192.0.2.2", any) == 503)
            // A remote client is not on this machine and therefore needs a token.
            let unknownPeer = try await platform.post(
                "/whip", try Offers.publisher(), headers: ["X-Forwarded-For": "192.0.2.3"])
            #expect(unknownPeer.status == 401)
        }
    }

    @Test("a proxy that is not configured is not trusted") func unnamed() async throws {
        try await TestPlatform.run { platform in
            let token = try Tokens.make { $0.forPublishingOnly().forRemoteAddress("192.0.2.1") }
            let answer = try await platform.post(
                "/whip", try Offers.publisher(), token: token, headers: ["X-Forwarded-For": "192.0.2.1"])
            #expect(answer.status == 401)
        }
    }
}
