import ArgumentParser
import PCastCore
import Testing

@testable import PCastCLI

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
