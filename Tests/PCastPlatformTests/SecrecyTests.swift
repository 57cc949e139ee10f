import PCastMedia
import Testing

@Suite struct SecrecyTests {
    @Test("WH5: a token gets into no log and no answer, at whatever level and door") func wh5() async throws {
        let record = LogRecord()
        let tokens = [
            try Tokens.publishing(), try Tokens.viewing(), try Tokens.make(secret: "wrong"),
            try Tokens.make(lifetime: .seconds(-1)),
        ]
        var answers: [String] = []
        try await TestPlatform.run(host: "0.0.0.0", logger: record.logger) { platform in
            for token in tokens {
                let encoded = token.replacing("+", with: "%2B").replacing("=", with: "%3D")
                for path in ["/whip", "/whep", "/whip?token=\(encoded)", "/nowhere?token=\(encoded)"] {
                    let answer = try await platform.post(path, try Offers.publisher(), token: token)
                    answers.append("\(answer.headers) \(answer.body)")
                }
                let page = try await platform.send("GET", "/watch/x?token=\(encoded)")
                answers.append("\(page.headers) \(page.body)")
                try await ProtocolClient.run(platform) { client in
                    _ = try await client.authenticate(token)
                    _ = try await client.ask(try Requests.view(token))
                }
            }
        }
        #expect(record.lines.contains { $0.contains("refused") })
        #expect(record.lines.contains { $0.contains("publisher admitted") })
        for token in tokens {
            // The prefix is common to all; what follows is the application and the digest.
            let secret = token.dropFirst("DIGEST:".count).dropFirst(60).prefix(40)
            #expect(!record.lines.contains { $0.contains(secret) })
            #expect(!answers.contains { $0.contains(secret) })
        }
        for line in record.lines { #expect(!line.contains("sesame")) }
    }

    @Test(
        "WH5: pages tell no other site the address they were opened by",
        arguments: ["/", "/publish", "/watch", "/watch/x"])
    func wh5Referrer(path: String) async throws {
        try await TestPlatform.run { platform async throws in
            #expect(try await platform.send("GET", path + "?token=x").header("Referrer-Policy") == "no-referrer")
        }
    }
}
