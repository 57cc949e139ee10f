import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastPlatform
import PCastSignaling
import Testing

/// The ownership of tags that authorize, and of sessions.
@Suite("Tags that authorize, and owners of sessions") struct OwnershipTests {
    private func publish(
        _ token: String, tags: [String], _ platform: TestPlatform,
        _ body: @Sendable (String) async throws -> Void
    ) async throws {
        try await ProtocolClient.run(platform) { client in
            _ = try #require(try await client.authenticate(try Tokens.make { $0.forAuthenticationOnly() }))
            try await body(try #require(try await client.setUp(try Requests.publish(token, tags: tags))))
        }
    }

    private static let clientTags = [
        "channelId:other", "channelAlias:other", "roomId:other", "roomAlias:other", "plain",
    ]

    @Test("a client's own tags select no stream, and only those that its token applies count", arguments: clientTags)
    func tags(tag: String) async throws {
        try await TestPlatform.run { (platform) async throws in
            let viewing = try Tokens.make { $0.forStreamingOnly().forTag(tag) }
            try await publish(try Tokens.publishing(), tags: Self.clientTags, platform) { stream in
                #expect(try await platform.post("/whep", try Offers.viewer(), token: viewing).status == 409)
                #expect(try await platform.post("/whep/\(stream)", try Offers.viewer(), token: viewing).status == 401)
                try await ProtocolClient.run(platform) { viewer in
                    _ = try #require(try await viewer.authenticate(try Tokens.make { $0.forAuthenticationOnly() }))
                    #expect(try await viewer.ask(try Requests.view(viewing, origin: stream)) == .unauthorized)
                }
                // A client cannot write a tag that another channel's backend reads.
                let report = #"{"publishingReport":{"channelIds":["other"]}}"#
                #expect(try await !platform.ask("PUT", "/pcast/reporting/publishing", report).body.contains(stream))
            }
            let applying = try Tokens.make { $0.forPublishingOnly().applyTag(tag) }
            try await publish(applying, tags: Self.clientTags, platform) { (stream) async throws in
                #expect(try await platform.post("/whep", try Offers.viewer(), token: viewing).status == 201)
                #expect(try await platform.post("/whep/\(stream)", try Offers.viewer(), token: viewing).status == 201)
            }
        }
    }

    @Test("on this machine, where no token is needed, a publisher's own tags count") func local() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client in
                _ = try #require(try await client.authenticate())
                let stream = try #require(try await client.setUp(try Requests.publish(tags: ["channelId:own"])))
                let viewing = try Tokens.make { $0.forStreamingOnly().forTag("channelId:own") }
                #expect(try await platform.post("/whep/\(stream)", try Offers.viewer(), token: viewing).status == 201)
            }
        }
    }

    @Test("a session is resumed by its owner, and by no other token of the application")
    func sessions() async throws {
        try await TestPlatform.run(host: "0.0.0.0") { platform in
            let token = try Tokens.make { $0.forAuthenticationOnly().withCapability("a") }
            let other = try Tokens.make { $0.forAuthenticationOnly().withCapability("b") }
            try await ProtocolClient.run(platform) { client in
                let session = try #require(try await client.authenticate(token))
                let stream = try #require(try await client.setUp(try Requests.publish(try Tokens.publishing())))
                try await ProtocolClient.run(platform) { thief in
                    let given = try await thief.authenticate(other, session: session)
                    #expect(given != nil && given != session)
                    #expect(try await thief.ask(Requests.destroy(stream, reason: "ended")) == .gone)
                }
                // The first connection still owns the stream.
                #expect(try await client.ask(Requests.destroy(stream, reason: "ended")) == .ok)
                #expect(try await client.reason(stream) == "ended")
                try await ProtocolClient.run(platform) { (again) async throws in
                    #expect(try await again.authenticate(token, session: session) == session)
                }
                // Tokens that apply the same tags have the same owner.
                let tagged = { @Sendable (capability: String) in
                    try Tokens.make { $0.forAuthenticationOnly().applyTag("user:7").withCapability(capability) }
                }
                try await ProtocolClient.run(platform) { own in
                    let first = try #require(try await own.authenticate(tagged("a")))
                    try await ProtocolClient.run(platform) { (again) async throws in
                        #expect(try await again.authenticate(tagged("b"), session: first) == first)
                    }
                }
                // A token that names the session belongs to its owner.
                let renewed = try Tokens.make { $0.forAuthenticationOnly().forSession(session) }
                try await ProtocolClient.run(platform) { (again) async throws in
                    #expect(try await again.authenticate(renewed, session: session) == session)
                }
            }
        }
    }

    @Test("a combining character after the colon does not change the owner that a tag names")
    func combiningCharacter() async throws {
        try await TestPlatform.run { (platform) async throws in
            for (tags, isListed) in [(["channelId:\u{301}other"], false), ([], true)] as [([String], Bool)] {
                let token = try Tokens.make {
                    isListed ? $0.forPublishingOnly().applyTag("channelId:\u{301}other") : $0.forPublishingOnly()
                }
                try await publish(token, tags: tags, platform) { stream in
                    let report = #"{"publishingReport":{"channelIds":["\u0301other"]}}"#
                    let body = try await platform.ask("PUT", "/pcast/reporting/publishing", report).body
                    #expect(body.contains(stream) == isListed)
                }
            }
        }
    }
}
