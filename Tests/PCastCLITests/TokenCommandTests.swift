import ArgumentParser
import PCastCore
import PCastEdgeAuth
import PCastJSON
import Testing

@testable import PCastCLI

struct TokenCommandTests {
    private func create(_ arguments: String...) throws -> TokenCreateCommand {
        try TokenCreateCommand.parse(["--application", "my-application-id:my-secret"] + arguments)
    }

    @Test("a token equals the one of the public libraries")
    func vector() throws {
        let token = try create("--expires-at", "1000", "--type", "stream", "--required-tag", "channelAlias:my-channel")
            .encodedToken(at: WallTime(millisecondsSinceEpoch: 0))
        #expect(
            token == "DIGEST:eyJhcHBsaWNhdGlvbklkIjoibXktYXBwbGljYXRpb24taWQiLCJkaWdlc3QiOiJPMk90R1ZBMlErTGlhRkdjSjZ0"
                + "cnlXZWE4L2l2dWFQR2gzcFJpcVd3ZlJPVWdBSSs0dFdaYXdBc011Y2MyMHNRTjZpaGZtVGVDNFVubXVoWko5aHBxUT09Iiwi"
                + "dG9rZW4iOiJ7XCJleHBpcmVzXCI6MTAwMCxcInJlcXVpcmVkVGFnXCI6XCJjaGFubmVsQWxpYXM6bXktY2hhbm5lbFwiLFwi"
                + "dHlwZVwiOlwic3RyZWFtXCJ9In0=")
    }

    @Test("the fields have a fixed order, whatever the order on the command line")
    func order() throws {
        let token = try create(
            "--capability", "z", "--apply-tag", "t2", "--type", "publish", "--stream", "S", "--session", "X",
            "--apply-tag", "t1", "--remote-address", "10.0.0.1", "--required-tag", "T", "--expires-in", "10s",
            "--uri", "http://h", "--capability", "a"
        ).encodedToken(at: WallTime(millisecondsSinceEpoch: 5_000))
        let verification = DigestTokens.verifyAndDecode(secret: "my-secret", encoded: token)
        #expect(
            verification.value?.text == #"{"uri":"http://h","expires":15000,"requiredTag":"T","#
                + #""remoteAddress":"10.0.0.1","sessionId":"X","originStreamId":"S","type":"publish","#
                + #""applyTags":["t2","t1"],"capabilities":["z","a"],"applicationId":"my-application-id"}"#)
    }

    @Test("the expiry of a token is printed, however far away it is")
    func printedExpiry() {
        let now = WallTime(millisecondsSinceEpoch: 1_785_585_600_000)
        func text(_ milliseconds: Int64) -> String {
            TokenVerifyCommand.expiry(of: EdgeToken(expires: WallTime(millisecondsSinceEpoch: milliseconds)), at: now)
        }
        #expect(text(1_785_585_661_000) == "expires at 2026-08-01T12:01:01.000Z, in 01:01")
        #expect(text(1_785_585_600_000) == "expired at 2026-08-01T12:00:00.000Z")
        #expect(text(-9_000_000_000_000) == "expired at 1684-10-19T08:00:00.000Z")
        #expect(text(9_000_000_000_000).hasPrefix("expires at 2255-03-14T16:00:00.000Z, in "))
    }

    @Test("a token needs exactly one expiry")
    func expiry() {
        #expect(throws: (any Error).self) { try create("--type", "auth") }
        #expect(throws: (any Error).self) { try create("--expires-in", "1s", "--expires-at", "1000") }
        #expect(throws: (any Error).self) { try create("--expires-at", "0") }
    }

    @Test("a token that another secret signed exits with status 3")
    func verify() throws {
        let token = try create("--expires-at", "1000").encodedToken(at: WallTime(millisecondsSinceEpoch: 0))
        let command = try TokenVerifyCommand.parse([token, "--secret", "bad-secret", "--json"])
        let failure = #expect(throws: CommandFailure.self) { try command.run() }
        #expect(failure?.status == .notAuthorized)
    }
}

struct TokenPairTests {
    private func token(_ arguments: String...) throws -> String {
        try TokenCreateCommand.parse(["--application", "a:s", "--expires-at", "1000"] + arguments)
            .encodedToken(at: WallTime(millisecondsSinceEpoch: 0))
    }

    @Test("two tokens are distinguished by their purpose, in either order")
    func two() throws {
        let (authentication, publishing) = (try token("--type", "auth"), try token("--type", "publish"))
        let pair = TokenPair(authentication: authentication, stream: publishing)
        #expect(try TokenPair([authentication, publishing], isLocal: false) == pair)
        #expect(try TokenPair([publishing, authentication], isLocal: false) == pair)
    }

    @Test("one token serves both purposes, unless a platform on this computer needs none")
    func one() throws {
        let (edge, viewing) = (try token(), try token("--type", "stream"))
        #expect(try TokenPair([edge], isLocal: true) == TokenPair(authentication: edge, stream: edge))
        #expect(try TokenPair([viewing], isLocal: false) == TokenPair(authentication: viewing, stream: viewing))
        #expect(try TokenPair([viewing], isLocal: true) == TokenPair(authentication: "", stream: viewing))
        #expect(try TokenPair([], isLocal: true) == TokenPair(authentication: "", stream: ""))
    }

    @Test("an invalid token is rejected, and tokens are not printed")
    func refused() throws {
        #expect(throws: CommandFailure.self) { try TokenPair(["secret"], isLocal: true) }
        let edge = try token()
        #expect(throws: CommandFailure.self) { try TokenPair([edge, edge, edge], isLocal: true) }
        let pair = try TokenPair([edge], isLocal: true)
        #expect(!"\(pair)".contains("DIGEST") && !String(reflecting: pair).contains("DIGEST"))
    }

    @Test("invalid fields are ignored")
    func nonsense() throws {
        #expect(TokenPair.field("uri", of: try token("--uri", "http://h")) == "http://h")
        for text in ["", "DIGEST:", "DIGEST:e30=", "DIGEST:!!!", "DIGEST:W10="] {
            #expect(TokenPair.field("uri", of: text) == nil)
        }
    }
}
