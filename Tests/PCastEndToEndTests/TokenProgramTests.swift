import Foundation
import Testing

extension EndToEnd {
    /// The vectors of the public EdgeAuth libraries' tests.
    @Suite("pcast token")
    struct TokenProgramTests {
        private static let application = "my-application-id:my-secret"

        private static let channelToken = """
            DIGEST:eyJhcHBsaWNhdGlvbklkIjoibXktYXBwbGljYXRpb24taWQiLCJkaWdlc3QiOiJPMk90R1ZBMlErTGlhRkdjSjZ0cnlXZWE4\
            L2l2dWFQR2gzcFJpcVd3ZlJPVWdBSSs0dFdaYXdBc011Y2MyMHNRTjZpaGZtVGVDNFVubXVoWko5aHBxUT09IiwidG9rZW4iOiJ7XCJl\
            eHBpcmVzXCI6MTAwMCxcInJlcXVpcmVkVGFnXCI6XCJjaGFubmVsQWxpYXM6bXktY2hhbm5lbFwiLFwidHlwZVwiOlwic3RyZWFtXCJ9\
            In0=
            """

        /// Options, with the digest that the public libraries compute for them.
        static let digests: [(options: [String], digest: String)] = [
            (
                [
                    "--uri", "https://my-custom-backend.example.org", "--required-tag", "channelAlias:my-channel",
                    "--type", "stream",
                ],
                "KR2HoLCmrSe4PZKimvCggCYbq8JktnbBRFX2nE4wYYwIGexgZqDw0fKP3YlC5hZKn/YE1saaePOeGN4SFNMc3w=="
            ),
            (
                ["--type", "publish"],
                "kTIAp8xeIjEpqSjtGvakrNGaEZyyKXLvdLvjALzIbHXBkjUx6yOa8sfLeh0RrvsGh2Elqy8NL1PETnuB7PGvzw=="
            ),
            (
                ["--type", "publish", "--capability", "multi-bitrate", "--capability", "streaming"],
                "E++A+q0XhFCOKOMuFvjrtH9SrxzpgD5UVXoPzCUOhcKSzGLdPfk2EV3VFN9dr3kATfmIdTx+RNQhv2wiRFmC5g=="
            ),
        ]

        private static func create(_ options: [String], in workspace: TestWorkspace) async throws -> String {
            let lines = try await workspace.run(
                BuiltProgram.path("pcast"),
                ["token", "create", "--application", application, "--expires-at", "1000"] + options
            ).output
            #expect(lines.count == 1)
            return lines.first ?? ""
        }

        @Test("create prints the bytes that the public libraries produce")
        func bytes() async throws {
            try await TestWorkspace.run { workspace in
                let options = ["--required-tag", "channelAlias:my-channel", "--type", "stream"]
                let token = try await Self.create(options, in: workspace)
                #expect(token == Self.channelToken)
            }
        }

        @Test("create signs as the public libraries do", arguments: digests)
        func digest(options: [String], digest: String) async throws {
            try await TestWorkspace.run { workspace in
                let token = try await Self.create(options, in: workspace)
                let body = try #require(Data(base64Encoded: String(token.dropFirst("DIGEST:".count))))
                let envelope = try JSONDecoder().decode(JSON.self, from: body)
                #expect(envelope["digest"].text == digest)
                #expect(envelope["applicationId"].text == "my-application-id")
            }
        }

        @Test(
            "verify prints the public result codes, and exits with 0 or 3",
            arguments: [
                (channelToken, "my-secret", "verified", 0), (channelToken, "bad-secret", "bad-digest", 3),
                ("DIGEST:bad-token", "my-secret", "bad-token", 3), ("DIGEST:", "my-secret", "bad-token", 3),
                ("DIGEST:e30=", "my-secret", "bad-token", 3), ("FOO", "my-secret", "not-a-digest-token", 3),
            ])
        func verify(token: String, secret: String, code: String, status: Int32) async throws {
            try await TestWorkspace.run { workspace in
                let program = try workspace.pcast("token", "verify", token, "--secret", secret)
                try await program.expectExitStatus(status)
                let received = try await program.event("token")
                #expect(received["code"].text == code)
                #expect(received["value"]["requiredTag"].text == (status == 0 ? "channelAlias:my-channel" : nil))
            }
        }
    }
}
