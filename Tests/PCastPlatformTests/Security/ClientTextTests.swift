import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastIO
import PCastPlatform
import PCastSignaling
import Testing

@testable import PCastPlatform

/// The texts of clients in logs, tables and messages to other clients.
@Suite("Texts of clients") struct ClientTextTests {
    private static let controls = "x\n2026-01-01T00:00:00Z notice platform: forged\u{1B}]0;title\u{7}\u{9B}2J\u{85}\r"

    private static func publishing(
        _ tags: [String], _ platform: TestPlatform,
        _ body: @Sendable (ProtocolClient, RequestStatus?, String?) async throws -> Void
    ) async throws {
        try await ProtocolClient.run(platform) { client in
            _ = try #require(try await client.authenticate())
            guard case .setupStream(let response)? = try await client.response(try Requests.publish(tags: tags)) else {
                return
            }
            let stream = response.createStreamResponse.streamID
            try await body(client, RequestStatus(wire: response.status), stream.isEmpty ? nil : stream)
        }
    }

    @Test("a reason has at most 120 characters at every endpoint") func reasons() async throws {
        try await TestPlatform.run { platform in
            try await Self.publishing([], platform) { client, _, stream in
                let stream = try #require(stream)
                for reason in [String(repeating: "x", count: 190_000), String(repeating: "é", count: 121)] {
                    #expect(try await client.ask(Requests.destroy(stream, reason: reason)) == .badRequest)
                }
                let longest = String(repeating: "é", count: 120)
                #expect(try await client.ask(Requests.destroy(stream, reason: longest)) == .ok)
                #expect(try await client.reason(stream) == longest)
            }
        }
    }

    @Test("there are at most 64 tags of 1 to 256 characters each") func tags() async throws {
        try await TestPlatform.run { platform in
            for tags in [
                [String(repeating: "x", count: 190_000)], [String(repeating: "é", count: 257)], [""],
                (0..<65).map { "tag\($0)" },
            ] {
                try await Self.publishing(tags, platform) { _, status, _ in #expect(status == .badRequest) }
            }
            try await Self.publishing((0..<64).map { _ in String(repeating: "é", count: 256) }, platform) {
                _, status, _ in #expect(status == .ok)
            }
        }
    }

    @Test("options have the limits of tags") func options() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client in
                _ = try #require(try await client.authenticate())
                for options in [[String(repeating: "x", count: 100_000)], (0..<500).map { "option\($0)" }] {
                    guard case .setupStream(var message) = try Requests.publish() else {
                        Issue.record("the request does not set up a stream")
                        return
                    }
                    message.createStream.options = options
                    #expect(try await client.ask(.setupStream(message)) == .badRequest)
                }
            }
        }
    }

    @Test("no log line contains a control character of a client or a worker") func logLines() async throws {
        let log = LogRecord()
        let script = #"read order; printf 'text \033]0;title\007 of a worker\n'; exit 1"#
        let workers = JobConfiguration(
            program: "/bin/sh", arguments: ["-c", script], networks: [IPNetwork("127.0.0.1")!],
            listenerPorts: 9_000...9_010)
        try await TestPlatform.run(logger: log.logger, workers: workers) { (platform) async throws in
            try await Self.publishing(["a\nb"], platform) { client, _, stream in
                let stream = try #require(stream)
                #expect(try await client.ask(Requests.destroy(stream, reason: Self.controls)) == .ok)
                #expect(try await client.reason(stream) == Self.controls)
            }
            try await ProtocolClient.run(platform) { client in
                // This is outside the macro, because the compiler would give this closure and the next the same name,
                // and link one.
                let token = try Tokens.make { $0.forAuthenticationOnly() }
                _ = try #require(try await client.authenticate(token))
                var create = PCastCreateStream()
                create.sessionID = ""
                create.connectUri = "srt://0.0.0.0:9001?mode=listener"
                var message = PCastSetupStream()
                message.streamToken = try Tokens.make { $0.forPublishingOnly().withCapability("publish-uri") }
                message.createStream = create
                let status = try await client.ask(.setupStream(message))
                #expect(status == .failed, "the worker ends without a stream")
            }
            #expect(try await eventually { log.lines.contains { $0.contains("of a worker") } })
            #expect(try await eventually { log.lines.contains { $0.contains("forged") } })
        }
        for line in log.lines {
            let isClean = line.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
            #expect(isClean, "\(line.debugDescription)")
        }
    }

    @Test(
        "a cell of a table is never a formula",
        arguments: [
            #"=HYPERLINK("http://x","y")"#, "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", " =1",
        ])
    func formulas(tag: String) {
        var table = CommaSeparatedValues()
        table.add([tag, "plain"])
        var text = table.text[...]
        if text.first == "\"" { text = text.dropFirst() }
        #expect(text.hasPrefix("'"), "\(table.text)")
    }

    @Test(
        "a text after a separator within a cell is not a formula",
        arguments: [
            ("a;=1+1", "a;'=1+1"), ("a;b;@x", "a;b;'@x"), ("a;-1;+1", "a;'-1;'+1"), ("a|=1", "a|'=1"),
            ("=1;=2", "'=1;'=2"), ("a;b", "a;b"), ("a-1;b=2", "a-1;b=2"), ("a,=1", "\"a,'=1\""),
            ("a\n=1", "\"a\n'=1\""), ("a; =1", "a;' =1"),
        ])
    func inertPieces(tag: String, cell: String) {
        var table = CommaSeparatedValues()
        table.add([tag])
        #expect(table.text == cell + "\r\n")
    }

    @Test("a report's cells with clients' text are not formulas, and others are unchanged") func report()
        async throws
    {
        try await TestPlatform.run { platform in
            try await Self.publishing([#"=HYPERLINK("http://x","y")"#], platform) { (client, _, stream) async throws in
                #expect(try await client.ask(Requests.destroy(try #require(stream), reason: "=1+1")) == .ok)
            }
            #expect(
                try await eventually {
                    let table = try await platform.ask(
                        "PUT", "/pcast/reporting/publishing", #"{"publishingReport":{}}"#)
                    return table.body.contains(#""'=HYPERLINK(""http://x"",""y"")""#) && table.body.contains(",'=1+1,")
                })
        }
    }
}
