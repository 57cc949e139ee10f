import PCastCore
import PCastEdgeAuth
import PCastJSON
import Testing

@Suite struct EdgeTokenBuilderTests {
    private let builder = EdgeTokenBuilder().withApplicationId("app").withSecret("secret")

    /// Returns the body of the token that a builder makes.
    private func body(_ builder: EdgeTokenBuilder) throws -> String {
        var value = try #require(DigestTokens.verifyAndDecode(secret: "secret", encoded: try builder.build()).value)
        value["applicationId"] = nil
        return value.text
    }

    @Test("fields have the order of the calls")
    func fieldOrder() throws {
        let token = try body(
            builder.applyTag("a").forSession("s").expiresAt(milliseconds: 5).withCapability("c").forAuthenticationOnly()
                .withUri("u").forRemoteAddress("r").forOriginStream("o").forTag("t"))
        #expect(
            token == #"{"applyTags":["a"],"sessionId":"s","expires":5,"capabilities":["c"],"type":"auth","uri":"u","#
                + #""remoteAddress":"r","originStreamId":"o","requiredTag":"t"}"#)
    }

    @Test("a field that is set again keeps its position, and lists grow")
    func repeatedCalls() throws {
        let token = try body(
            builder.forChannel("1").withCapability("b").expiresAt(milliseconds: 5).forRoom("2").withCapability("a")
                .withCapability("b").expiresAt(milliseconds: 6).applyTag("x").applyTag("x"))
        #expect(
            token == #"{"requiredTag":"roomId:2","capabilities":["b","a","b"],"expires":6,"applyTags":["x","x"]}"#)
    }

    @Test("each kind of tag has its own prefix")
    func tagPrefixes() throws {
        let base = builder.expiresAt(milliseconds: 1)
        for (token, tag) in [
            (base.forChannel("c"), "channelId:c"), (base.forChannelAlias("c"), "channelAlias:c"),
            (base.forRoom("c"), "roomId:c"), (base.forRoomAlias("c"), "roomAlias:c"), (base.forTag("c"), "c"),
        ] {
            #expect(try body(token) == #"{"expires":1,"requiredTag":"\#(tag)"}"#)
        }
    }

    @Test("a relative expiration counts from the given time")
    func relativeExpiration() throws {
        let now = WallTime(millisecondsSinceEpoch: 1_700_000_000_123)
        #expect(try body(builder.expiresIn(.milliseconds(3_600_000), from: now)) == #"{"expires":1700003600123}"#)
    }

    @Test("a token without an expiration is not built")
    func buildWithoutExpiration() throws {
        #expect(throws: EdgeAuthError.missingExpiration) { try builder.build() }
        #expect(throws: EdgeAuthError.missingExpiration) { try builder.expiresAt(milliseconds: 0).build() }
        #expect(
            EdgeAuthError.missingExpiration.description
                == "Token must have an expiration (milliseconds since UNIX epoch)")
    }

    @Test("a token without an application or a secret is not built")
    func missingApplicationOrSecret() throws {
        #expect(throws: EdgeAuthError.missingApplicationID) { try EdgeTokenBuilder().withSecret("s").build() }
        #expect(throws: EdgeAuthError.missingApplicationID) { try builder.withApplicationId("").build() }
        #expect(throws: EdgeAuthError.missingSecret) { try EdgeTokenBuilder().withApplicationId("a").build() }
    }

    @Test("a body that contains an application ID is rejected")
    func applicationInBody() throws {
        var body = JSONObject()
        body["expires"] = .number(1)
        body["applicationId"] = .string("other")
        #expect(throws: EdgeAuthError.applicationIDInToken) {
            try DigestTokens.signAndEncode(applicationID: "app", secret: "s", token: body)
        }
    }

    @Test("a body is encoded in UTF-8, and slashes are not escaped")
    func bodyEncoding() throws {
        let builder = builder.expiresAt(milliseconds: 1).forTag("é/😀\u{2028}\u{7F}\u{F}\u{10}\u{8}\u{C}\r\n\t\"\\")
        let encoded = try builder.build()
        let envelope = String(decoding: try #require(Base64.decode(String(encoded.dropFirst(7)))), as: UTF8.self)
        let token =
            #"{\"expires\":1,\"requiredTag\":\"é/😀"# + "\u{2028}\u{7F}"
            + #"\\u000f\\u0010\\b\\f\\r\\n\\t\\\"\\\\\"}"#
        #expect(envelope.utf8.suffix(token.utf8.count + 2).elementsEqual((token + "\"}").utf8))
    }

    @Test("the secret is never printed")
    func secretIsNotPrinted() {
        let builder = EdgeTokenBuilder().withSecret("hidden").withApplicationId("app").forTag("t")
        #expect("\(builder)" == #"{"requiredTag":"t"}"#)
        var dumped = ""
        dump(builder, to: &dumped)
        #expect(!dumped.contains("hidden"))
    }
}

@Suite struct EdgeTokenTests {
    private func token(_ text: String) throws -> EdgeToken? { EdgeToken(try #require(JSONObject(text: text))) }

    @Test("every field is read")
    func allFields() throws {
        let read = try token(
            #"{"expires":1500,"uri":"u","type":"publish","capabilities":["a","b"],"sessionId":"s","#
                + #""remoteAddress":"r","originStreamId":"o","requiredTag":"t","applyTags":["x"],"other":1}"#)
        var expected = EdgeToken(expires: WallTime(millisecondsSinceEpoch: 1500))
        expected.uri = "u"
        expected.kind = .publishing
        expected.capabilities = ["a", "b"]
        expected.sessionID = "s"
        expected.remoteAddress = "r"
        expected.originStreamID = "o"
        expected.requiredTag = "t"
        expected.applyTags = ["x"]
        #expect(read == expected)
    }

    @Test(
        "a restriction that cannot be interpreted is not ignored",
        arguments: [
            "{}", #"{"expires":"1"}"#, #"{"expires":1,"type":"everything"}"#, #"{"expires":1,"type":null}"#,
            #"{"expires":1,"sessionId":5}"#, #"{"expires":1,"remoteAddress":["1.2.3.4"]}"#,
            #"{"expires":1,"originStreamId":{}}"#, #"{"expires":1,"requiredTag":null}"#,
            #"{"expires":1,"capabilities":"a"}"#, #"{"expires":1,"applyTags":[1]}"#, #"{"expires":1,"uri":true}"#,
        ])
    func unknownRestriction(text: String) throws {
        #expect(try token(text) == nil)
    }

    @Test("an expiration outside the range of the clock is clamped")
    func clampedExpiration() throws {
        #expect(try token(#"{"expires":1e300}"#)?.expires.millisecondsSinceEpoch == 9_200_000_000_000)
        #expect(try token(#"{"expires":-1e300}"#)?.expires.millisecondsSinceEpoch == -9_200_000_000_000)
    }
}
