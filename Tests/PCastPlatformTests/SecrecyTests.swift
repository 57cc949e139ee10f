import Logging
import PCastCore
import PCastEdgeAuth
import PCastPlatform
import Synchronization
import Testing

@Suite struct SecrecyTests {
    @Test("a token occurs in no log and no answer, at every level and endpoint")
    func tokensAreNotDisclosed() async throws {
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
        #expect(record.lines.contains { $0.contains("request rejected") })
        #expect(record.lines.contains { $0.contains("publisher admitted") })
        for token in tokens {
            // The prefix is common to all tokens. It is followed by the application and the digest.
            let secret = token.dropFirst("DIGEST:".count).dropFirst(60).prefix(40)
            #expect(!record.lines.contains { $0.contains(secret) })
            #expect(!answers.contains { $0.contains(secret) })
        }
        for line in record.lines { #expect(!line.contains("sesame")) }
    }

    @Test(
        "pages send no referrer to other sites",
        arguments: ["/", "/publish", "/watch", "/watch/x"])
    func referrerPolicy(path: String) async throws {
        try await TestPlatform.run { platform async throws in
            #expect(try await platform.send("GET", path + "?token=x").header("Referrer-Policy") == "no-referrer")
        }
    }

    @Test("no secret is logged: credentials, cookies, signing secrets, resource names, queries of callbacks")
    func secrets() async throws {
        let record = LogRecord()
        var secrets = ["sesame", "wrong-secret"]
        try await Backend.run(statuses: [500, 410]) { _, port in
            try await TestPlatform.run(
                records: StorageConfiguration(
                    webhookAllowedNetworks: [try #require(IPNetwork(.loopbackV4, prefix: 8))],
                    notificationWaits: [.milliseconds(20)]),
                logger: record.logger
            ) { platform in
                let script = ["PCast-Dashboard": "1", "Content-Type": "application/json"]
                for secret in ["wrong-secret", "sesame"] {
                    let body = #"{"applicationId":"first","secret":"\#(secret)"}"#
                    let answer = try await platform.send("POST", "/dashboard/login", script, body: body)
                    guard let cookie = answer.header("Set-Cookie") else { continue }
                    let ticket = String(cookie.prefix { $0 != ";" })
                    secrets.append(String(ticket.split(separator: "=")[1]))
                    let headers = script.merging(["Cookie": ticket]) { $1 }
                    #expect(try await platform.send("GET", "/pcast/streams?token=in-the-query", headers).status == 200)
                }
                let basic = Base64.encode(Array("first:wrong-secret".utf8))
                let refused = try await platform.send("GET", "/pcast/streams", ["Authorization": "Basic \(basic)"])
                #expect(refused.status == 401)
                let asked =
                    #"{"callback":{"host":"127.0.0.1","port":\#(port),"path":"/hook","query":"key=of-the-callback"}}"#
                let set = try await platform.ask("PUT", "/pcast/application/first/callback", asked)
                let signing = try #require(set.body.split(separator: "\"").first { $0.hasPrefix("whsec_") })
                let (_, resource) = try await platform.publish()
                #expect(try await platform.reaches("pcast_notification_failures_total", 2))
                #expect(try await platform.send("DELETE", resource).status == 200)
                secrets += [
                    basic, "in-the-query", "of-the-callback", String(signing),
                    String(try #require(resource.split(separator: "/").last)),
                ]
            }
        }
        #expect(record.lines.contains { $0.contains("logged in to the dashboard") })
        #expect(record.lines.contains { $0.contains("dashboard login failed") })
        #expect(record.lines.contains { $0.contains("request") && $0.contains("/pcast/streams") })
        for secret in secrets {
            #expect(!record.lines.contains { $0.contains(secret) }, "\(secret)")
        }
    }
}

/// Keeps every line of a log at every level, with its metadata.
final class LogRecord: Sendable {
    private let kept = Mutex<[String]>([])

    var lines: [String] { kept.withLock { $0 } }

    var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(record: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let record: LogRecord
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
            record.kept.withLock { $0.append("\(event.level) \(event.message) \(all)") }
        }
    }
}
