import PCastCore
import PCastEdgeAuth
import Testing

@Suite struct TokenAuthorizationTests {
    private static let now = WallTime(millisecondsSinceEpoch: 1_000_000)
    private static let view = TokenRequest.Purpose.subscribe(originStreamID: "o", tags: ["t", "channelAlias:c"])

    private static func token(_ change: (inout EdgeToken) -> Void = { _ in }) -> EdgeToken {
        var token = EdgeToken(expires: now + .milliseconds(1))
        change(&token)
        return token
    }

    /// Returns the reason against the token; nil if it permits the request.
    private static func refusal(_ token: EdgeToken, _ request: TokenRequest, at now: WallTime = now) -> TokenRejection?
    {
        do throws(TokenRejection) {
            try TokenAuthorization(token).authorize(request, at: now)
            return nil
        } catch {
            return error
        }
    }

    @Test("a token is rejected from its expiration on")
    func expiredToken() {
        let token = Self.token()
        let request = TokenRequest(.authenticate)
        #expect(Self.refusal(token, request, at: token.expires - .nanoseconds(1)) == nil)
        #expect(Self.refusal(token, request, at: token.expires) == .expired(at: token.expires))
        #expect(Self.refusal(token, request, at: token.expires + .milliseconds(1000)) == .expired(at: token.expires))
    }

    @Test("each rejection is described in words")
    func descriptions() {
        let rejections: [TokenRejection] = [
            .expired(at: Self.now), .wrongType, .wrongSession, .wrongRemoteAddress, .wrongOriginStream,
            .missingTag("blue"), .missingCapability("streaming"),
        ]
        let texts = rejections.map { "\($0)" }
        #expect(Set(texts).count == rejections.count)
        #expect(texts.allSatisfy { $0.hasPrefix("the token") || $0.hasPrefix("the stream") })
        #expect(texts[0].contains("1000000") && texts[5].contains("“blue”") && texts[6].contains("“streaming”"))
    }

    @Test("each token type allows its own purposes only")
    func tokenTypes() {
        let kinds: [EdgeToken.Kind?] = [nil, .authentication, .streaming, .publishing]
        let purposes = [TokenRequest.Purpose.authenticate, Self.view, .publish]
        let allowed = [[true, true, false], [true, false, false], [false, true, false], [false, false, true]]
        for (kind, row) in zip(kinds, allowed) {
            for (purpose, isAllowed) in zip(purposes, row) {
                let refusal = Self.refusal(Self.token { $0.kind = kind }, TokenRequest(purpose))
                #expect(refusal == (isAllowed ? nil : .wrongType), "\(String(describing: kind)) \(purpose)")
            }
        }
    }

    @Test(
        "only the session that the token names is accepted",
        arguments: [
            (nil, nil, true), (nil, "s", true), ("s", "s", true), ("s", "S", false), ("s", nil, false),
            ("*", "s", false), ("", "s", false), ("", nil, false), ("e\u{301}", "\u{E9}", false),
        ] as [(String?, String?, Bool)])
    func requiredSession(only: String?, session: String?, isAllowed: Bool) {
        for purpose in [TokenRequest.Purpose.authenticate, Self.view] {
            let refusal = Self.refusal(
                Self.token { $0.sessionID = only }, TokenRequest(purpose, sessionID: session))
            #expect(refusal == (isAllowed ? nil : .wrongSession))
        }
    }

    @Test(
        "an IPv4-mapped address equals the IPv4 address that it contains",
        arguments: [
            (nil, nil, true), (nil, "192.0.2.1", true), ("192.0.2.1", "192.0.2.1", true),
            ("::ffff:192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "::ffff:c000:201", true),
            ("2001:DB8:0::1", "2001:db8::1", true), ("192.0.2.1", "192.0.2.2", false), ("192.0.2.1", nil, false),
            ("192.0.2.1 ", "192.0.2.1", false), ("", "192.0.2.1", false), ("192.0.2.0/24", "192.0.2.1", false),
        ] as [(String?, String?, Bool)])
    func ipv4MappedAddresses(only: String?, address: String?, isAllowed: Bool) {
        let address = address.flatMap { IPAddress($0) }
        let refusal = Self.refusal(
            Self.token { $0.remoteAddress = only }, TokenRequest(.authenticate, remoteAddress: address))
        #expect(refusal == (isAllowed ? nil : .wrongRemoteAddress))
    }

    @Test("only the stream that the token names can be viewed")
    func requiredStream() {
        let other = TokenRequest.Purpose.subscribe(originStreamID: "p", tags: [])
        #expect(Self.refusal(Self.token { $0.originStreamID = "o" }, TokenRequest(Self.view)) == nil)
        #expect(Self.refusal(Self.token { $0.originStreamID = "o" }, TokenRequest(other)) == .wrongOriginStream)
        #expect(Self.refusal(Self.token { $0.originStreamID = "" }, TokenRequest(other)) == .wrongOriginStream)
        #expect(Self.refusal(Self.token { $0.originStreamID = "o" }, TokenRequest(.authenticate)) == nil)
    }

    @Test("a viewed stream must have the required tag")
    func requiredTags() {
        for tag in ["t", "channelAlias:c"] {
            #expect(Self.refusal(Self.token { $0.requiredTag = tag }, TokenRequest(Self.view)) == nil)
        }
        for tag in ["T", "channelAlias:", "channelId:c", ""] {
            #expect(Self.refusal(Self.token { $0.requiredTag = tag }, TokenRequest(Self.view)) == .missingTag(tag))
        }
        let publishing = Self.token {
            $0.requiredTag = "other"
            $0.kind = .publishing
        }
        #expect(Self.refusal(publishing, TokenRequest(.publish)) == nil)
        #expect(Self.refusal(Self.token { $0.requiredTag = "other" }, TokenRequest(.authenticate)) == nil)
    }

    @Test(
        "a capability must be granted by the token",
        arguments: [
            ([], [], nil), (["a", "b"], ["b"], nil), (["a"], ["a", "b", "c"], "b"), ([], ["a"], "a"),
            (["playout-buffer"], ["playout-buffer=PT1S"], "playout-buffer=PT1S"), ([], ["real-time"], nil),
            (["prefer-h264"], ["real-time"], nil), (["streaming"], ["real-time"], "real-time"),
            (["streaming", "real-time"], ["real-time"], nil), (["real-time"], ["streaming"], "streaming"),
        ] as [([String], [String], String?)])
    func grantedCapabilities(granted: [String], requested: [String], missing: String?) {
        let token = Self.token { $0.capabilities = granted }
        let refusal = Self.refusal(token, TokenRequest(Self.view, capabilities: requested))
        #expect(refusal == missing.map { .missingCapability($0) })
    }

    @Test("a publisher always uses real-time delivery")
    func publisherDelivery() {
        let token = Self.token {
            $0.kind = .publishing
            $0.capabilities = ["streaming"]
        }
        #expect(Self.refusal(token, TokenRequest(.publish, capabilities: ["real-time", "streaming"])) == nil)
        #expect(
            Self.refusal(token, TokenRequest(.publish, capabilities: ["on-demand"])) == .missingCapability("on-demand"))
    }

    /// Violates each subset of restrictions at once. The first in order is reported.
    @Test("one violated restriction is enough for a rejection")
    func brokenRestriction() {
        let refusals: [TokenRejection] = [
            .expired(at: Self.now), .wrongType, .wrongSession, .wrongRemoteAddress, .wrongOriginStream,
            .missingTag("required"), .missingCapability("c"),
        ]
        for broken in 0..<(1 << refusals.count) {
            let isBroken = { (index: Int) in broken >> index & 1 == 1 }
            let token = Self.token {
                $0.expires = isBroken(0) ? Self.now : Self.now + .milliseconds(1000)
                $0.kind = isBroken(1) ? .publishing : .streaming
                $0.sessionID = isBroken(2) ? "other" : "s"
                $0.remoteAddress = isBroken(3) ? "192.0.2.9" : "192.0.2.1"
                $0.originStreamID = isBroken(4) ? "other" : "o"
                $0.requiredTag = isBroken(5) ? "required" : "t"
                $0.capabilities = isBroken(6) ? [] : ["c"]
            }
            let request = TokenRequest(
                Self.view, sessionID: "s", remoteAddress: IPAddress("192.0.2.1"), capabilities: ["c"])
            let expected = refusals.indices.first(where: isBroken).map { refusals[$0] }
            #expect(Self.refusal(token, request) == expected)
        }
    }

    @Test("only a verified token authorizes")
    func unverifiedToken() throws {
        let encoded = try EdgeTokenBuilder().withApplicationId("a").withSecret("s").expiresAt(milliseconds: 1).build()
        #expect(TokenAuthorization(DigestTokens.verifyAndDecode(secret: "s", encoded: encoded)) != nil)
        #expect(TokenAuthorization(DigestTokens.verifyAndDecode(secret: "t", encoded: encoded)) == nil)
    }
}
