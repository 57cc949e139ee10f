import PCastCore
import PCastEdgeAuth
import PCastPlatform
import PCastSignaling
import Testing

/// Every restriction of a token at every endpoint.
@Suite struct TokenTests {
    enum Door: CaseIterable, Sendable { case whip, whep, publishing, viewing }

    /// Returns whether the endpoint admits a client with the token; nil if it answers neither success nor
    /// `unauthorized`.
    private func isAdmitted(_ token: String, at endpoint: Door, _ platform: TestPlatform) async throws -> Bool? {
        switch endpoint {
        case .whip: admitted(try await platform.post("/whip", try Offers.publisher(), token: token).status)
        case .whep: admitted(try await platform.post("/whep", try Offers.viewer(), token: token).status)
        case .publishing: try await isAdmitted(try Requests.publish(token), platform)
        case .viewing: try await isAdmitted(try Requests.view(token), platform)
        }
    }

    private func admitted(_ status: Int) -> Bool? { status == 201 ? true : status == 401 ? false : nil }

    /// Sends the request in a session that another token opened, so that only the stream's token decides.
    private func isAdmitted(_ request: SignalingRequest, _ platform: TestPlatform) async throws -> Bool? {
        let answer = OneValue<RequestStatus>()
        try await ProtocolClient.run(platform) { client in
            #expect(try await client.authenticate(try Tokens.make()) != nil)
            await answer.set(try await client.ask(request))
        }
        let status = await answer.value
        return status == .ok ? true : status == .unauthorized ? false : nil
    }

    private actor OneValue<Value: Sendable> {
        private(set) var value: Value?
        func set(_ value: Value?) { self.value = value }
    }

    private func withStream(tags: [String] = [], _ body: (TestPlatform, String) async throws -> Void) async throws {
        try await TestPlatform.run { platform in
            let token = try Tokens.make { token in
                tags.reduce(token.forPublishingOnly()) { $0.applyTag($1) }
            }
            let (stream, _) = try await platform.publish(token: token)
            try await body(platform, stream)
        }
    }

    @Test(
        "an invalid, expired or foreign token is rejected by every endpoint",
        arguments: Door.allCases)
    func badTokens(endpoint: Door) async throws {
        try await withStream { platform, _ in
            func kind(_ builder: EdgeTokenBuilder) -> EdgeTokenBuilder { restricted(builder, to: endpoint) }
            let unknown = PlatformConfiguration.Application(id: ApplicationID("third"), secret: "sesame")
            let good = try Tokens.make { kind($0) }
            for token in [
                "nonsense", "DIGEST:", "DIGEST:AAAA", String(good.dropLast(8)), good + "AAAA",
                try Tokens.make(secret: "wrong") { kind($0) }, try Tokens.make(unknown) { kind($0) },
                try Tokens.make(lifetime: .seconds(-1)) { kind($0) },
            ] {
                #expect(try await isAdmitted(token, at: endpoint, platform) == false)
            }
            #expect(try await isAdmitted(good, at: endpoint, platform) == true)
        }
    }

    private func restricted(_ builder: EdgeTokenBuilder, to endpoint: Door) -> EdgeTokenBuilder {
        switch endpoint {
        case .whip, .publishing: builder.forPublishingOnly()
        case .whep, .viewing: builder.forStreamingOnly()
        }
    }

    @Test("a token of another type is rejected", arguments: Door.allCases) func types(endpoint: Door) async throws {
        try await withStream { platform, _ in
            let publishes = endpoint == .whip || endpoint == .publishing
            let none = try Tokens.make()
            let authentication = try Tokens.make { $0.forAuthenticationOnly() }
            #expect(try await isAdmitted(authentication, at: endpoint, platform) == false)
            #expect(try await isAdmitted(try Tokens.publishing(), at: endpoint, platform) == publishes)
            #expect(try await isAdmitted(try Tokens.viewing(), at: endpoint, platform) == !publishes)
            #expect(try await isAdmitted(none, at: endpoint, platform) == !publishes)
        }
    }

    @Test("a token for another session is rejected", arguments: Door.allCases) func session(endpoint: Door) async throws
    {
        try await withStream { platform, _ in
            let token = try Tokens.make { restricted($0, to: endpoint).forSession("session-of-another") }
            #expect(try await isAdmitted(token, at: endpoint, platform) == false)
        }
    }

    @Test("a token for the session is accepted") func ownSession() async throws {
        try await withStream { platform, _ in
            try await ProtocolClient.run(platform) { client in
                let session = try #require(try await client.authenticate(try Tokens.make()))
                let token = try Tokens.make { $0.forStreamingOnly().forSession(session) }
                #expect(try await client.ask(try Requests.view(token)) == .ok)
            }
        }
    }

    @Test("a token for another address is rejected, and one for this address is accepted", arguments: Door.allCases)
    func remoteAddress(endpoint: Door) async throws {
        try await withStream { platform, _ in
            for (address, isOpen) in [("192.0.2.1", false), ("127.0.0.1", true), ("nonsense", false)] {
                let token = try Tokens.make { restricted($0, to: endpoint).forRemoteAddress(address) }
                #expect(try await isAdmitted(token, at: endpoint, platform) == isOpen, "\(address)")
            }
        }
    }

    @Test("a token for one stream gives access to that stream only", arguments: [Door.whep, .viewing])
    func originStream(endpoint: Door) async throws {
        try await withStream { platform, stream in
            let token = try Tokens.make { $0.forStreamingOnly().forOriginStream(stream) }
            // This stream is published later and is the newest, but the token does not name it.
            let (other, _) = try await platform.publish(token: try Tokens.publishing())
            #expect(try await isAdmitted(token, at: endpoint, platform) == true)
            let status = try await platform.post("/whep/\(other)", try Offers.viewer(), token: token).status
            #expect(status == 401)
            #expect(try await isAdmitted(try Requests.view(token, origin: other), platform) == false)
            #expect(try await isAdmitted(try Requests.view(token, origin: stream), platform) == true)
        }
    }

    @Test("a token that requires a tag gives access only to streams with that tag", arguments: [Door.whep, .viewing])
    func requiredTag(endpoint: Door) async throws {
        try await withStream(tags: ["red", "channelId:ch#1"]) { platform, tagged in
            let (plain, _) = try await platform.publish(token: try Tokens.publishing())
            let red = try Tokens.make { $0.forStreamingOnly().forTag("red") }
            #expect(try await isAdmitted(red, at: endpoint, platform) == true)
            #expect(try await platform.post("/whep/\(tagged)", try Offers.viewer(), token: red).status == 201)
            #expect(try await platform.post("/whep/\(plain)", try Offers.viewer(), token: red).status == 401)
            #expect(try await isAdmitted(try Requests.view(red, origin: plain), platform) == false)
            let channel = try Tokens.make { $0.forStreamingOnly().forChannel("ch#1") }
            #expect(try await isAdmitted(channel, at: endpoint, platform) == true)
            let blue = try Tokens.make { $0.forStreamingOnly().forTag("blue") }
            #expect(try await platform.post("/whep", try Offers.viewer(), token: blue).status == 409)
            #expect(try await platform.post("/whep/\(tagged)", try Offers.viewer(), token: blue).status == 401)
        }
    }

    @Test("a token of one application gives no access to another's streams") func applications() async throws {
        try await withStream { platform, stream in
            let foreign = try Tokens.make(TestPlatform.otherApplication) { $0.forStreamingOnly() }
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer(), token: foreign).status == 409)
            #expect(try await platform.post("/whep", try Offers.viewer(), token: foreign).status == 409)
        }
    }

    @Test("a missing token answers 401 with a challenge if not only loopback listens") func missing() async throws {
        try await TestPlatform.run(host: "0.0.0.0") { platform in
            #expect(!platform.listening.allowsAnonymousLoopback)
            for endpoint in ["/whip", "/whep", "/whep/stream-x"] {
                let answer = try await platform.post(endpoint, try Offers.publisher())
                #expect(answer.status == 401)
                #expect(answer.header("WWW-Authenticate") == "Bearer")
            }
            try await ProtocolClient.run(platform) { client async throws in
                #expect(try await client.authenticate() == nil)
            }
        }
    }

    @Test("a token may be in the address, percent-encoded") func inTheAddress() async throws {
        try await TestPlatform.run(host: "0.0.0.0") { platform in
            let token = try Tokens.publishing().replacing("+", with: "%2B").replacing("=", with: "%3D")
                .replacing("/", with: "%2F").replacing(":", with: "%3A")
            #expect(try await platform.post("/whip?token=\(token)", try Offers.publisher()).status == 201)
        }
    }

    @Test("a session that a stream's token opened permits that token only") func onlyToken() async throws {
        try await withStream { platform, _ in
            try await ProtocolClient.run(platform) { client in
                let token = try Tokens.viewing()
                #expect(try await client.authenticate(token) != nil)
                #expect(try await client.ask(try Requests.publish(try Tokens.publishing())) == .unauthorized)
                #expect(try await client.ask(try Requests.view(token)) == .ok)
            }
        }
    }
}
