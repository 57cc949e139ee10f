import PCastCore
import PCastEdgeAuth
import PCastJSON
import Testing

/// Vectors of the public EdgeAuth libraries' tests.
@Suite struct DigestTokensTests {
    private static let applicationID = "my-application-id"
    private static let secret = "my-secret"

    private static let channelAliasToken =
        "DIGEST:eyJhcHBsaWNhdGlvbklkIjoibXktYXBwbGljYXRpb24taWQiLCJkaWdlc3QiOiJPMk90R1ZBMlErTGlhRkdjSjZ0cnlXZWE4L2l2dWF"
        + "QR2gzcFJpcVd3ZlJPVWdBSSs0dFdaYXdBc011Y2MyMHNRTjZpaGZtVGVDNFVubXVoWko5aHBxUT09IiwidG9rZW4iOiJ7XCJleHBpcmVzXCI6"
        + "MTAwMCxcInJlcXVpcmVkVGFnXCI6XCJjaGFubmVsQWxpYXM6bXktY2hhbm5lbFwiLFwidHlwZVwiOlwic3RyZWFtXCJ9In0="

    private static var builder: EdgeTokenBuilder {
        EdgeTokenBuilder().withApplicationId(applicationID).withSecret(secret)
    }

    /// Returns the envelope with the given body and digest, encoded like Node.
    private static func encoded(body: String, digest: String) -> String {
        let quoted = JSONValue.string(body).text
        let envelope = #"{"applicationId":"\#(applicationID)","digest":"\#(digest)","token":\#(quoted)}"#
        return "DIGEST:" + Base64.encode(Array(envelope.utf8))
    }

    @Test("a channel alias token equals that of the public libraries byte for byte")
    func channelAliasTokenBytes() throws {
        let token = try Self.builder.expiresAt(milliseconds: 1000).forChannelAlias("my-channel").forStreamingOnly()
            .build()
        #expect(token == Self.channelAliasToken)
    }

    @Test("a token with a URI equals that of the public libraries byte for byte")
    func tokenWithURI() throws {
        let token = try Self.builder.withUri("https://my-custom-backend.example.org").expiresAt(milliseconds: 1000)
            .forChannelAlias("my-channel").forStreamingOnly().build()
        let body =
            #"{"uri":"https://my-custom-backend.example.org","expires":1000,"requiredTag":"channelAlias:my-channel","#
            + #""type":"stream"}"#
        let digest = "KR2HoLCmrSe4PZKimvCggCYbq8JktnbBRFX2nE4wYYwIGexgZqDw0fKP3YlC5hZKn/YE1saaePOeGN4SFNMc3w=="
        #expect(token == Self.encoded(body: body, digest: digest))
    }

    @Test("a publishing token equals that of the public libraries byte for byte")
    func publishingTokenBytes() throws {
        let token = try Self.builder.expiresAt(milliseconds: 1000).forPublishingOnly().build()
        let digest = "kTIAp8xeIjEpqSjtGvakrNGaEZyyKXLvdLvjALzIbHXBkjUx6yOa8sfLeh0RrvsGh2Elqy8NL1PETnuB7PGvzw=="
        #expect(token == Self.encoded(body: #"{"expires":1000,"type":"publish"}"#, digest: digest))
    }

    @Test("a token with capabilities equals that of the public libraries byte for byte")
    func tokenWithCapabilities() throws {
        let token = try Self.builder.expiresAt(milliseconds: 1000).forPublishingOnly()
            .withCapability("multi-bitrate").withCapability("streaming").build()
        let body = #"{"expires":1000,"type":"publish","capabilities":["multi-bitrate","streaming"]}"#
        let digest = "E++A+q0XhFCOKOMuFvjrtH9SrxzpgD5UVXoPzCUOhcKSzGLdPfk2EV3VFN9dr3kATfmIdTx+RNQhv2wiRFmC5g=="
        #expect(token == Self.encoded(body: body, digest: digest))
    }

    @Test("every token of the public library is created byte for byte and verified")
    func publicLibraryTokens() throws {
        for (builder, encoded) in PublicLibraryTokens.all {
            #expect(try builder.build() == encoded)
        }
    }

    @Test("a verified token has its body in order and its application")
    func verifiedToken() {
        let verification = DigestTokens.verifyAndDecode(secret: Self.secret, encoded: Self.channelAliasToken)
        #expect(verification.code == .verified)
        #expect(
            verification.value?.text
                == #"{"expires":1000,"requiredTag":"channelAlias:my-channel","type":"stream","#
                + #""applicationId":"my-application-id"}"#)
        var token = EdgeToken(expires: WallTime(millisecondsSinceEpoch: 1000))
        token.applicationID = "my-application-id"
        token.requiredTag = "channelAlias:my-channel"
        token.kind = .streaming
        #expect(verification.token == token)
        #expect(DigestTokens.applicationID(of: Self.channelAliasToken) == "my-application-id")
    }

    @Test("verification with another secret reports a bad digest")
    func otherSecret() {
        let verification = DigestTokens.verifyAndDecode(secret: "bad-secret", encoded: Self.channelAliasToken)
        #expect(verification.code == .badDigest && verification.value == nil && verification.token == nil)
    }

    @Test(
        "each kind of invalid token has its own code",
        arguments: [
            ("FOO", DigestTokenVerification.Code.notADigestToken), ("", .notADigestToken),
            ("digest:e30=", .notADigestToken),
            ("DIGEST:", .badToken), ("DIGEST:bad-token", .badToken), ("DIGEST:e30=", .badToken),
            ("DIGEST:e30", .badToken),
            ("DIGEST:e3 0=", .badToken),
        ])
    func invalidTokenCodes(text: String, code: DigestTokenVerification.Code) {
        #expect(DigestTokens.verifyAndDecode(secret: Self.secret, encoded: text).code == code)
        #expect(DigestTokens.applicationID(of: text) == nil)
    }

    @Test("an envelope without one of its fields is a bad token", arguments: ["applicationId", "digest", "token"])
    func incompleteEnvelope(name: String) {
        for replacement in [nil, JSONValue.string(""), .number(1), .null] {
            var envelope = JSONObject()
            for part in ["applicationId", "digest", "token"] { envelope[part] = .string("eA==") }
            envelope[name] = replacement
            let encoded = "DIGEST:" + Base64.encode(Array(envelope.text.utf8))
            #expect(DigestTokens.verifyAndDecode(secret: Self.secret, encoded: encoded).code == .badToken)
        }
    }

    @Test("a signed body that is not an object is a server error")
    func bodyIsNoObject() {
        // The HMAC-SHA-512 of "[]" under "my-application-idmy-secret".
        let digest = "CB9TVNS3Z1ZidKl3K7rT3g36BZkyeto4kHX4pWU9o5hl9R77wAiDcb8+hXNH92kKMr7FvWcnsGfOcay3IXCY0A=="
        let encoded = Self.encoded(body: "[]", digest: digest)
        #expect(DigestTokens.verifyAndDecode(secret: Self.secret, encoded: encoded).code == .serverError)
    }

    @Test("a token without Base64 padding is verified")
    func tokenWithoutPadding() {
        let encoded = String(Self.channelAliasToken.dropLast())
        #expect(DigestTokens.verifyAndDecode(secret: Self.secret, encoded: encoded).isVerified)
    }

    @Test("a token above the length limit is neither created nor read")
    func tokenLengthLimit() {
        let builder = Self.builder.expiresAt(milliseconds: 1000).forTag(String(repeating: "x", count: 12_200))
        #expect(throws: EdgeAuthError.tooLarge(byteCount: 16_523)) { try builder.build() }
        let encoded = "DIGEST:" + String(repeating: "A", count: 16 * 1024)
        #expect(DigestTokens.verifyAndDecode(secret: Self.secret, encoded: encoded).code == .badToken)
    }

    @Test("no truncated or changed token is verified")
    func truncatedOrChangedToken() {
        let bytes = Array(Self.channelAliasToken.utf8)
        for length in 0..<bytes.count - 1 {
            let text = String(decoding: bytes[..<length], as: UTF8.self)
            #expect(!DigestTokens.verifyAndDecode(secret: Self.secret, encoded: text).isVerified)
        }
        var state: UInt64 = 1
        for index in bytes.indices {
            var changed = bytes
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            changed[index] ^= UInt8(truncatingIfNeeded: state >> 33) % 127 + 1
            let text = String(decoding: changed, as: UTF8.self)
            #expect(!DigestTokens.verifyAndDecode(secret: Self.secret, encoded: text).isVerified)
        }
    }
}
