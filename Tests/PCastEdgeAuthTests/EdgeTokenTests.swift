import PCastCore
import PCastEdgeAuth
import PCastJSON
import Testing

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
