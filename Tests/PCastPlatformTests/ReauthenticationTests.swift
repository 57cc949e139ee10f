import PCastCore
import PCastEdgeAuth
import PCastSignaling
import Testing

/// A client that authenticates again with a new token after the old one has expired.
@Suite("Re-authentication") struct ReauthenticationTests {
    private static func authenticate(
        _ client: ProtocolClient, _ token: String, session: String?
    ) async throws -> PCastAuthenticateResponse {
        let response = try await client.response(Requests.authenticate(token, session: session))
        guard case .authenticate(let message)? = response else { throw Failure() }
        return message
    }

    private struct Failure: Error {}

    @Test("a rejected Authenticate names the client's own session, which a new token of its owner resumes")
    func resumed() async throws {
        try await TestPlatform.run { platform in
            let token = try Tokens.make { $0.forAuthenticationOnly().applyTag("user:1") }
            let expired = try Tokens.make(lifetime: .seconds(-1)) { $0.forAuthenticationOnly().applyTag("user:1") }
            try await ProtocolClient.run(platform) { first async throws in
                let session = try #require(try await first.authenticate(token))
                try await ProtocolClient.run(platform) { second async throws in
                    let refused = try await Self.authenticate(second, expired, session: session)
                    #expect(refused.status == "unauthorized" && refused.sessionID == session)
                    let resumed = try await Self.authenticate(second, token, session: session)
                    #expect(resumed.status == "ok" && resumed.sessionID == session)
                }
            }
        }
    }

    @Test("a rejected Authenticate discloses nothing about other sessions") func others() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client async throws in
                let none = try await Self.authenticate(client, "DIGEST:none", session: nil)
                #expect(none.status == "unauthorized" && !none.hasSessionID)
                let unknown = try await Self.authenticate(client, "DIGEST:none", session: "session-unknown")
                #expect(unknown.status == "unauthorized" && unknown.sessionID == "session-unknown")
                let long = String(repeating: "s", count: 129)
                let tooLong = try await Self.authenticate(client, "DIGEST:none", session: long)
                #expect(tooLong.status == "unauthorized" && !tooLong.hasSessionID)
            }
        }
    }
}
