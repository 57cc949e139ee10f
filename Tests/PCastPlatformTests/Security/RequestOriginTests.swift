import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastPlatform
import Testing

/// The clients that count as local, the access to metrics, and the rate of attempts with credentials.
@Suite("Callers, metrics and credentials") struct CallerTests {
    @Test(
        "a forwarded request is not local, unless a named proxy says so",
        arguments: [
            ["X-Forwarded-For": "203.0.113.1"], ["Forwarded": "for=203.0.113.1"], ["Via": "1.1 proxy"],
            ["X-Forwarded-For": ""], ["X-Real-IP": "203.0.113.1"], ["X-Forwarded-Host": "live.example"],
            ["X-Forwarded-For": "127.0.0.1"],
        ])
    func forwarded(headers: [String: String]) async throws {
        let log = LogRecord()
        try await TestPlatform.run(logger: log.logger) { (platform) async throws in
            #expect(try await platform.post("/whip", try Offers.publisher(), headers: headers).status == 401)
            #expect(log.lines.contains { $0.contains("trusted-proxy") })
            #expect(try await platform.send("GET", "/metrics", headers).status == 401)
            #expect(try await platform.send("GET", "/timeline/a/b", headers).status == 401)
            #expect(try await platform.post("/whip", try Offers.publisher()).status == 201)
        }
    }

    @Test("a request of HTTP/1.0 is not local, because proxies send such requests without a field of their own")
    func oldVersion() async throws {
        try await TestPlatform.run { (platform) async throws in
            for (version, status) in [("1.0", 401), ("1.1", 200)] {
                let request = try await RawRequest(
                    platform, lines: ["GET /metrics HTTP/\(version)", "Host: 127.0.0.1", "Connection: close"])
                #expect(try await request.statuses(1) == [status])
                try? await request.close()
            }
        }
    }

    @Test("a configured proxy that writes another field than the configured one makes no client local")
    func otherField() async throws {
        try await TestPlatform.runConfigured(configure: { $0.trustedProxies = [IPNetwork("127.0.0.1")!] }) {
            (platform) async throws in
            let publish = { (headers: [String: String]) in
                try await platform.post("/whip", try Offers.publisher(), headers: headers).status
            }
            #expect(try await publish(["Forwarded": "for=203.0.113.1"]) == 401)
            #expect(try await publish(["Via": "1.1 proxy"]) == 401)
            #expect(try await publish(["X-Forwarded-For": "203.0.113.1"]) == 401)
            #expect(try await publish(["X-Forwarded-For": "127.0.0.1"]) == 201)
            #expect(try await publish([:]) == 201)
        }
    }

    @Test("metrics are available locally and with the configured credential")
    func metricsCredential() async throws {
        let configure: (inout PlatformConfiguration) -> Void = {
            $0.trustedProxies = [IPNetwork("127.0.0.1")!]
            $0.metricsToken = "scrape-me"
        }
        try await TestPlatform.runConfigured(configure: configure) { (platform) async throws in
            let elsewhere = ["X-Forwarded-For": "203.0.113.1"]
            func status(_ authorization: String?, at name: [String: String]? = nil) async throws -> Int {
                var headers = name ?? elsewhere
                headers["Authorization"] = authorization
                return try await platform.send("GET", "/metrics", headers).status
            }
            #expect(try await status(nil) == 401)
            #expect(try await status("Bearer wrong") == 401)
            #expect(try await status("Bearer scrape-me") == 200)
            let basic = Base64.encode(Array("prometheus:scrape-me".utf8))
            #expect(try await status("Basic \(basic)") == 200)
            #expect(try await status(nil, at: [:]) == 200)
            #expect(try await status(nil, at: ["Host": "attacker.example"]) == 401)
        }
        try await TestPlatform.run(host: "0.0.0.0") { (platform) async throws in
            #expect(try await platform.send("GET", "/metrics").status == 200)
        }
    }

    @Test("metrics are computed at most once per second, and their requests are limited")
    func metricsCost() async throws {
        try await TestPlatform.runConfigured(configure: { $0.metricsCacheTime = .seconds(1) }) { platform in
            let start = MonotonicClock.now()
            var bodies: Set<String> = []
            var accepted = 0
            try await withThrowingTaskGroup(of: [TestPlatform.Response].self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        var answers: [TestPlatform.Response] = []
                        for _ in 0..<40 { answers.append(try await platform.send("GET", "/metrics")) }
                        return answers
                    }
                }
                for try await answers in group {
                    for answer in answers {
                        if answer.status == 200 {
                            bodies.insert(answer.body)
                            accepted += 1
                        } else {
                            #expect(answer.status == 429)
                        }
                    }
                }
            }
            let seconds = (MonotonicClock.now() - start).seconds
            #expect(Double(bodies.count) <= seconds + 2)
            // The limit is 500 requests at once, and 100 per second. A slow machine does not reach it.
            #expect(Double(accepted) <= 501 + 100 * seconds)
        }
    }

    @Test("credentials that are wrong too often are not checked any more, at every endpoint")
    func guesses() async throws {
        let endpoints: [(String, String, (String) -> [String: String], String?)] = [
            ("GET", "/pcast/streams", Self.basic, nil),
            ("PUT", "/timeline/NHL/1", Self.basic, "{}"),
            ("POST", "/pcast/auth", { _ in [:] }, #"{"applicationId":"first","secret":"wrong"}"#),
        ]
        for (method, path, headers, body) in endpoints {
            try await TestPlatform.run { platform in
                for number in 0..<10 {
                    let answer = try await platform.send(method, path, headers("\(number)"), body: body)
                    #expect(answer.status == 401, "\(path)")
                }
                // The limit applies also at the other endpoints and with the right credentials. A further attempt is
                // permitted every six seconds. It has been used.
                func isLimited(_ ask: () async throws -> TestPlatform.Response) async throws -> Bool {
                    try await eventually {
                        while try await platform.send(method, path, headers("wrong"), body: body).status == 401 {}
                        return try await ask().status == 429
                    }
                }
                #expect(try await isLimited { try await platform.ask("GET", "/pcast/streams") })
                #expect(
                    try await isLimited {
                        try await platform.send(
                            "POST", "/dashboard/login", ["PCast-Dashboard": "1", "Content-Type": "application/json"],
                            body: #"{"applicationId":"first","secret":"sesame"}"#)
                    })
            }
        }
    }

    @Test("the limit of guesses does not show which applications exist")
    func unknownApplications() async throws {
        try await TestPlatform.run { (platform) async throws in
            func status(_ id: String) async throws -> Int {
                let basic = "Basic \(Base64.encode(Array("\(id):wrong".utf8)))"
                return try await platform.send("GET", "/pcast/streams", ["Authorization": basic]).status
            }
            // An unknown name is limited after as many failures as an existing one.
            for id in ["first", "unknown"] {
                for _ in 0..<10 { _ = try await status(id) }
                #expect(try await eventually { try await status(id) == 429 })
            }
            // Other unknown names are not, except for those with an equal hash.
            var statuses: [Int] = []
            for number in 0..<16 { statuses.append(try await status("unknown-\(number)")) }
            #expect(statuses.contains(401))
        }
    }

    @Test("wrong metrics credentials count too") func metricsGuesses() async throws {
        let configure: (inout PlatformConfiguration) -> Void = {
            $0.trustedProxies = [IPNetwork("127.0.0.1")!]
            $0.metricsToken = "scrape-me"
        }
        try await TestPlatform.runConfigured(configure: configure) { (platform) async throws in
            func status(_ token: String, _ address: String = "203.0.113.1") async throws -> Int {
                try await platform.send(
                    "GET", "/metrics", ["X-Forwarded-For": address, "Authorization": "Bearer \(token)"]
                ).status
            }
            for number in 0..<10 { #expect(try await status("\(number)") == 401) }
            // A further attempt is permitted every six seconds, which another guess uses.
            #expect(
                try await eventually {
                    while try await status("wrong") == 401 {}
                    return try await status("scrape-me") == 429
                })
            #expect(try await status("scrape-me", "203.0.113.2") == 200)
        }
    }

    private static func basic(_ guess: String) -> [String: String] {
        ["Authorization": "Basic \(Base64.encode(Array("first:\(guess)".utf8)))"]
    }
}
