import PCastCore
import Testing

@testable import PCastPlatform

/// The clients that count as local and need no token.
@Suite struct ThisMachineTests {
    @Test(
        "on loopback no token is needed, except for pages of other sites",
        arguments: [
            (nil, nil, 201), ("http://HOST", nil, 201), ("https://evil.example", nil, 401), ("null", nil, 401),
            ("http://localhost:1", nil, 401), (nil, "evil.example", 401), ("http://evil.example", "evil.example", 401),
            (nil, "127.0.0.1.evil.example", 401), (nil, "localhost:80", 201),
        ] as [(String?, String?, Int)])
    func anonymousLoopbackAccess(origin: String?, host: String?, status: Int) async throws {
        try await TestPlatform.run { platform async throws in
            #expect(platform.listening.allowsAnonymousLoopback)
            var headers: [String: String] = [:]
            headers["Origin"] = origin?.replacing("HOST", with: platform.uri.dropFirst("http://".count))
            headers["Host"] = host
            #expect(try await platform.post("/whip", try Offers.publisher(), headers: headers).status == status)
        }
    }

    @Test("a page of another site may use a token") func withToken() async throws {
        try await TestPlatform.run { platform in
            let answer = try await platform.post(
                "/whip", try Offers.publisher(), token: try Tokens.publishing(),
                headers: ["Origin": "https://studio.example"])
            #expect(answer.status == 201)
        }
    }

    @Test(
        "only loopback addresses count as this machine, and only under its own names",
        arguments: [
            ("127.0.0.1", "127.0.0.1:8080", nil, true), ("::1", "[::1]:8080", nil, true),
            ("127.9.9.9", "localhost", nil, true),
            ("192.0.2.1", "127.0.0.1:8080", nil, false), ("127.0.0.1", nil, nil, false), ("127.0.0.1", "", nil, false),
            ("127.0.0.1", "attacker.example:8080", nil, false),
            ("127.0.0.1", "127.0.0.1:8080", "http://127.0.0.1:8080", true),
            ("127.0.0.1", "127.0.0.1:8080", "http://127.0.0.1:9090", false),
            ("127.0.0.1", "127.0.0.1:8080", "file://", false), ("127.0.0.1", "127.0.0.1@evil.example", nil, false),
        ] as [(String, String?, String?, Bool)])
    func visitors(address: String, host: String?, origin: String?, isHere: Bool) {
        let clientContext = ClientContext(RequestOrigin(address: IPAddress(address)), host: host, origin: origin)
        #expect(clientContext.isOnThisMachine == isHere)
    }
}
