import FoundationEssentials
import PCastCore
import PCastIO
import PCastPlatform
import Testing

/// The dashboard's login, and the access by its cookie.
@Suite struct DashboardTests {
    private static let script = ["PCast-Dashboard": "1"]

    private func logIn(
        _ platform: TestPlatform, _ id: String = "first", _ secret: String = "sesame",
        headers: [String: String] = script
    ) async throws -> TestPlatform.Response {
        var headers = headers
        headers["Content-Type"] = headers["Content-Type"] ?? "application/json"
        return try await platform.send(
            "POST", "/dashboard/login", headers, body: #"{"applicationId":"\#(id)","secret":"\#(secret)"}"#)
    }

    /// Returns name and value of the cookie, as a browser sends them.
    private func cookie(_ answer: TestPlatform.Response) throws -> String {
        String(try #require(answer.header("Set-Cookie")).prefix { $0 != ";" })
    }

    @Test("without a login a login page is shown, and with one the dashboard") func pages() async throws {
        try await TestPlatform.run { platform in
            let before = try await platform.send("GET", "/")
            #expect(before.body.contains("id=\"login\"") && before.body.contains("pcast publish"))
            #expect(before.header("Cache-Control") == "no-store")
            let cookie = try cookie(try await logIn(platform))
            let after = try await platform.send("GET", "/", ["Cookie": "other=1; \(cookie)"])
            #expect(after.body.contains("id=\"cards\"") && !after.body.contains("id=\"login\""))
            for page in [before, after] {
                let policy = try #require(page.header("Content-Security-Policy"))
                #expect(policy.contains("frame-ancestors 'none'") && policy.hasPrefix("default-src 'none';"))
            }
        }
    }

    @Test("the cookie is for this platform only and hidden from scripts") func attributes() async throws {
        try await TestPlatform.run { platform in
            let answer = try await logIn(platform)
            #expect(answer.status == 200 && answer.body == #"{"applicationId":"first"}"#)
            let port = try #require(platform.uri.split(separator: ":").last)
            let cookie = try #require(answer.header("Set-Cookie"))
            #expect(cookie.hasPrefix("pcast-login-\(port)="))
            #expect(cookie.hasSuffix("; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict"))
            #expect(try #require(cookie.split(separator: ";").first).count == "pcast-login-\(port)=".count + 26)
            #expect(try await logIn(platform).header("Set-Cookie") != cookie, "each login has its own ticket")
        }
    }

    @Test("behind an HTTPS proxy the cookie is for HTTPS only")
    func proxied() async throws {
        let secure = ["X-Forwarded-Proto": "https"]
        let configure: (inout PlatformConfiguration) -> Void = { $0.trustedProxies = [IPNetwork("127.0.0.1")!] }
        try await TestPlatform.runConfigured(configure: configure) { platform in
            let answer = try await logIn(platform, headers: Self.script.merging(secure) { $1 })
            let cookie = try #require(answer.header("Set-Cookie"))
            #expect(cookie.hasPrefix("__Host-pcast-login-") && cookie.hasSuffix("; Secure"))
            let page = try await platform.send("GET", "/", secure.merging(["Cookie": try self.cookie(answer)]) { $1 })
            #expect(page.body.contains("id=\"cards\""))
            // The request came over HTTP, or the client wrote the field. The last proxy's value counts.
            for scheme in ["http", "https, http", "", "https;"] {
                let other = try await logIn(
                    platform, headers: Self.script.merging(["X-Forwarded-Proto": scheme]) { $1 })
                #expect(other.header("Set-Cookie")?.contains("Secure") == false, "\(scheme)")
            }
            let forwarded = Self.script.merging(["Forwarded": "for=192.0.2.1;proto=https"]) { $1 }
            #expect(try await logIn(platform, headers: forwarded).header("Set-Cookie")?.contains("Secure") == false)
        }
        try await TestPlatform.run { platform in
            let answer = try await logIn(platform, headers: Self.script.merging(secure) { $1 })
            #expect(answer.header("Set-Cookie")?.contains("Secure") == false, "the proxy is not configured")
        }
        let standard: (inout PlatformConfiguration) -> Void = {
            $0.trustedProxies = [IPNetwork("127.0.0.1")!]
            $0.forwardedHeader = .forwarded
        }
        try await TestPlatform.runConfigured(configure: standard) { platform in
            let fields = ["Forwarded": #"for=192.0.2.1;proto=http, for=127.0.0.1;Proto="https""#]
            let answer = try await logIn(platform, headers: Self.script.merging(fields) { $1 })
            #expect(answer.header("Set-Cookie")?.hasSuffix("; Secure") == true)
        }
    }

    @Test("a preview on the dashboard does not count as a viewer and uses no capacity")
    func preview() async throws {
        try await TestPlatform.runConfigured(configure: { $0.limits[.viewers] = 1 }) { platform in
            let (stream, publisher) = try await platform.publish()
            let cookie = ["Cookie": try cookie(try await logIn(platform))]
            let ours = Self.script.merging(cookie) { $1 }
            for _ in 0..<3 {
                #expect(try await platform.post("/whep/\(stream)", try Offers.viewer(), headers: ours).status == 201)
            }
            for name in [
                "pcast_viewers", #"pcast_application_viewers{application="first"}"#,
                #"pcast_views_total{application="first"}"#,
                #"pcast_stream_viewers{application="first",stream="\#(stream)"}"#,
            ] { #expect(try await platform.figure(name) == 0, "\(name)") }
            let view = try await platform.post("/whep/\(stream)", try Offers.viewer())
            #expect(view.status == 201)
            // Without the page's header field the cookie is not accepted, nor is another application's cookie.
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer(), headers: cookie).status == 503)
            let foreign = try self.cookie(try await logIn(platform, "second", "treasure"))
            let theirs = Self.script.merging(["Cookie": foreign]) { $1 }
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer(), headers: theirs).status == 503)
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer(), headers: ours).status == 201)
            #expect(try await platform.figure("pcast_viewers") == 1)
            #expect(try await platform.reaches(#"pcast_stream_viewers{application="first",stream="\#(stream)"}"#, 1))
            #expect(try await platform.send("DELETE", try #require(view.header("Location"))).status == 200)
            #expect(
                try await platform.reaches(#"pcast_stream_viewers{application="first",stream="\#(stream)"}"#, 0))
            #expect(try await platform.send("DELETE", publisher).status == 200)
            #expect(try await platform.reaches("pcast_streams", 0))
        }
    }

    @Test(
        "wrong credentials give no access",
        arguments: [("first", "wrong"), ("first", ""), ("first", "treasure"), ("third", "sesame"), ("", "")])
    func wrong(id: String, secret: String) async throws {
        try await TestPlatform.run { platform in
            let answer = try await logIn(platform, id, secret)
            #expect(answer.status == 401)
            #expect(answer.header("Set-Cookie") == nil)
            // With this field a browser would open its own login dialog.
            #expect(answer.header("WWW-Authenticate") == nil)
        }
    }

    @Test("after ten failures an address must wait, even with the right secret") func rate() async throws {
        try await TestPlatform.run { platform in
            var asked = MonotonicClock.now()
            var answer = try await logIn(platform, "first", "wrong")
            var attempts = 1
            // If each attempt takes seconds, further attempts become available.
            while answer.status == 401, attempts < 200 {
                asked = MonotonicClock.now()
                answer = try await logIn(platform, "first", "wrong")
                attempts += 1
            }
            #expect(answer.status == 429 && attempts > 10)
            let wait = try #require(answer.header("Retry-After").flatMap { Int64($0) })
            #expect((1...6).contains(wait))
            let right = try await logIn(platform).status
            // The wait may be over if this test was delayed since it sent the rejected request.
            #expect(right == 429 || MonotonicClock.now() - asked > .seconds(wait - 1))
        }
    }

    @Test(
        "pages of other sites cannot log in, read or end anything",
        arguments: [
            [:], ["PCast-Dashboard": "1", "Origin": "https://evil.example"],
            ["PCast-Dashboard": "1", "Origin": "null"],
            ["PCast-Dashboard": "1", "Sec-Fetch-Site": "cross-site"],
            ["PCast-Dashboard": "1", "Sec-Fetch-Site": "same-site"], ["Origin": "HERE"],
        ])
    func forgery(headers: [String: String]) async throws {
        try await TestPlatform.run { platform in
            let cookie = try cookie(try await logIn(platform))
            let (stream, _) = try await platform.publish()
            let headers = headers.mapValues { $0 == "HERE" ? platform.uri : $0 }
            #expect(try await logIn(platform, headers: headers).status == 403)
            let all = headers.merging(["Cookie": cookie]) { $1 }
            #expect(try await platform.send("GET", "/pcast/streams", all).status == 401)
            let ended = try await platform.send(
                "DELETE", "/pcast/stream", all, body: #"{"streamId":"\#(stream)","reason":"censored"}"#)
            #expect(ended.status == 401)
            #expect(try await platform.send("DELETE", "/dashboard/login", all).status == 401)
            #expect(try await platform.figure("pcast_streams") == 1)
        }
    }

    @Test("a login must be JSON") func form() async throws {
        try await TestPlatform.run { platform in
            let headers = Self.script.merging(["Content-Type": "application/x-www-form-urlencoded"]) { $1 }
            #expect(try await logIn(platform, headers: headers).status == 403)
            let unreadable = try await platform.send(
                "POST", "/dashboard/login", Self.script.merging(["Content-Type": "application/json"]) { $1 }, body: "x")
            #expect(unreadable.status == 400)
        }
    }

    @Test("the cookie gives access to the application's own data only, until logout") func own() async throws {
        try await TestPlatform.run { platform in
            let (stream, _) = try await platform.publish()
            let ours = Self.script.merging(["Cookie": try cookie(try await logIn(platform))]) { $1 }
            let theirs = Self.script.merging(["Cookie": try cookie(try await logIn(platform, "second", "treasure"))]) {
                $1
            }
            #expect(try await platform.send("GET", "/dashboard/login", ours).body == #"{"applicationId":"first"}"#)
            #expect(try await platform.send("GET", "/pcast/streams", ours).body.contains(stream))
            #expect(try await !platform.send("GET", "/pcast/streams", theirs).body.contains(stream))
            #expect(try await platform.send("GET", "/pcast/application/second/notifications", ours).status == 404)
            let body = #"{"streamId":"\#(stream)","reason":"maintenance"}"#
            #expect(try await platform.send("DELETE", "/pcast/stream", theirs, body: body).status == 404)
            #expect(try await platform.send("DELETE", "/pcast/stream", ours, body: body).status == 200)

            let out = try await platform.send("DELETE", "/dashboard/login", ours)
            #expect(out.status == 200)
            #expect(out.header("Set-Cookie")?.contains("=; Path=/; Max-Age=0;") == true)
            let answer = try await platform.send("GET", "/pcast/streams", ours)
            #expect(answer.status == 401 && answer.body.contains("logged-out"))
            #expect(answer.header("WWW-Authenticate") == "Cookie realm=\"pcast\"")
            #expect(try await platform.send("GET", "/pcast/streams", theirs).status == 200)
        }
    }

    private struct Listed: Decodable {
        struct Stream: Decodable {
            struct Publisher: Decodable {
                let `protocol`: String
                let address: String?
            }
            let streamId: String
            let publisher: Publisher?
            let codecs: [String]?
            let reason: String?
        }
        struct Total: Decodable {
            let streams: Int
            let viewers: Int
        }
        let streams: [Stream]
        let start: String?
        let total: Total?
    }

    private func list(_ platform: TestPlatform, _ query: String) async throws -> Listed {
        let answer = try await platform.ask("GET", "/pcast/streams?\(query)")
        return try JSONDecoder().decode(Listed.self, from: Data(answer.body.utf8))
    }

    @Test("streams can be listed newest first, in parts, live and ended") func newest() async throws {
        try await TestPlatform.run { platform in
            var published: [String] = []
            for _ in 0..<5 { published.append(try await platform.publish().stream) }
            for state in ["live", "ended"] {
                if state == "ended" {
                    for stream in published {
                        let body = #"{"streamId":"\#(stream)","reason":"enough"}"#
                        #expect(try await platform.ask("DELETE", "/pcast/stream", body).status == 200)
                    }
                    #expect(
                        try await eventually { try await list(platform, "state=ended").streams.count == 5 })
                }
                var found: [String] = []
                var start: String? = "0"
                while let next = start {
                    let part = try await list(platform, "state=\(state)&order=newest&length=2&start=\(next)")
                    #expect(part.streams.count <= 2 && found.count < 10)
                    #expect(part.total?.streams == (state == "live" ? 5 : nil))
                    found += part.streams.map(\.streamId)
                    start = part.start
                }
                #expect(found == published.reversed())
            }
            let first = try #require(try await list(platform, "state=ended&order=newest").streams.first)
            #expect(first.reason == "enough")
        }
    }

    @Test("a stream's details contain its publisher's client, protocol and codecs") func publisher() async throws {
        try await TestPlatform.run { platform in
            _ = try await platform.publish()
            let whip = try #require(try await list(platform, "").streams.first)
            #expect(whip.publisher?.protocol == "whip" && whip.publisher?.address == "127.0.0.1")
            #expect(whip.codecs?.last == "opus" && whip.codecs?.count == 2)
            try await ProtocolClient.run(platform) { client in
                _ = try await client.authenticate()
                _ = try await client.setUp(try Requests.publish())
                #expect(try await list(platform, "order=newest").streams.first?.publisher?.protocol == "pcast")
            }
        }
    }

    private struct History: Decodable {
        struct Sample: Decodable {
            let time: Int64
            let viewers: Int
        }
        let interval: Int64
        let samples: [Sample]
    }

    @Test("a live stream has a history for its own application") func history() async throws {
        try await TestPlatform.run { platform in
            let (stream, resource) = try await platform.publish()
            let path = "/pcast/stream/\(stream)/history"
            let read = { (query: String) in
                try JSONDecoder().decode(
                    History.self, from: Data(try await platform.ask("GET", path + query).body.utf8))
            }
            #expect(try await eventually { try await read("").samples.count >= 2 })
            let all = try await read("")
            #expect(all.interval == 1_000)
            #expect(all.samples.map(\.time) == all.samples.map(\.time).sorted())
            let later = try await read("?after=\(all.samples[0].time)")
            #expect(later.samples.first?.time == all.samples[1].time)
            #expect(try await platform.ask("GET", path + "?after=x").status == 400)
            let foreign = try await platform.send(
                "GET", path, ["Authorization": "Basic \(Base64.encode(Array("second:treasure".utf8)))"])
            #expect(foreign.status == 404)
            #expect(try await platform.send("DELETE", resource).status == 200)
            #expect(try await eventually { try await platform.ask("GET", path).status == 404 })
        }
    }

    @Test(
        "a token is valid for the requested time within bounds",
        arguments: [nil, 1, 600, 2_678_400, 0, 2_678_401, -1])
    func lifetime(seconds: Int?) async throws {
        try await TestPlatform.run { platform in
            let (stream, _) = try await platform.publish()
            let expiry = seconds.map { #","expiresIn":\#($0)"# } ?? ""
            let answer = try await platform.ask("POST", "/pcast/stream", #"{"originStreamId":"\#(stream)"\#(expiry)}"#)
            #expect(answer.status == (seconds.map { (1...2_678_400).contains($0) } ?? true ? 200 : 400))
        }
    }
}
