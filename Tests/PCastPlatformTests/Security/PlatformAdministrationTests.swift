import Foundation
import PCastCore
import PCastEdgeAuth
import PCastJSON
import PCastJWT
import Testing

@testable import PCastPlatform
@testable import PCastSFU

@Suite("The administration of the platform")
struct PlatformAdministrationTests {
    private static let one = [TestPlatform.application]

    /// Sends a request with the credentials of an application.
    private static func ask(
        _ platform: TestPlatform, _ method: String, _ path: String, _ body: String? = nil, id: String, secret: String
    ) async throws -> TestPlatform.Response {
        let basic = Base64.encode(Array("\(id):\(secret)".utf8))
        return try await platform.send(method, path, ["Authorization": "Basic \(basic)"], body: body)
    }

    private static func object(_ response: TestPlatform.Response) throws -> JSONObject {
        try #require(try JSONValue(Array(response.body.utf8)).object)
    }

    private static func secret(_ response: TestPlatform.Response) throws -> String {
        try #require(try object(response)["secret"]?.string)
    }

    /// Returns a field of a limit.
    private static func limit(_ platform: TestPlatform, _ name: String, _ field: String) async throws -> JSONValue? {
        let limits = try #require(try object(try await platform.ask("GET", "/pcast/limits"))["limits"]?.array)
        return limits.compactMap(\.object).first { $0["name"]?.string == name }?[field]
    }

    @Test("an added application has a secret, which can be replaced, and its access can be revoked")
    func applications() async throws {
        try await TestPlatform.run(applications: Self.one) { platform in
            let added = try await platform.ask("PUT", "/pcast/application/tenant")
            let former = try Self.secret(added)
            #expect(added.status == 200 && former.count == 64)
            #expect(try await platform.ask("PUT", "/pcast/application/tenant").status == 409)
            #expect(try await platform.ask("PUT", "/pcast/application/a%20b").status == 400)
            let own = try await Self.ask(platform, "GET", "/pcast/streams", id: "tenant", secret: former)
            #expect(own.status == 200)
            // It administers itself, and not the platform.
            for (method, path) in [
                ("GET", "/pcast/applications"), ("PUT", "/pcast/application/other"), ("GET", "/pcast/limits"),
                ("POST", "/pcast/drain"), ("DELETE", "/pcast/application/tenant"),
            ] {
                let answer = try await Self.ask(platform, method, path, id: "tenant", secret: former)
                #expect(answer.status == 403, "\(method) \(path)")
            }

            let secret = try Self.secret(try await platform.ask("POST", "/pcast/application/tenant/rotation"))
            #expect(secret != former)
            let stale = try await Self.ask(platform, "GET", "/pcast/streams", id: "tenant", secret: former)
            #expect(stale.status == 401)
            let tenant = PlatformConfiguration.Application(id: ApplicationID("tenant"), secret: secret)
            let token = try Tokens.make(tenant) { $0.forPublishingOnly() }
            _ = try await platform.publish(token: token)
            let list = try await platform.ask("GET", "/pcast/applications")
            #expect(!list.body.contains(secret) && !list.body.contains("sesame"))
            let listed = try #require(try Self.object(list)["applications"]?.array).compactMap(\.object)
            #expect(listed.compactMap { $0["applicationId"]?.string } == ["first", "tenant"])
            #expect(listed.compactMap { $0["streams"]?.number } == [0, 1])

            #expect(try await platform.ask("DELETE", "/pcast/application/tenant").status == 200)
            #expect(try await platform.reaches("pcast_streams", 0))
            #expect(try await platform.post("/whip", try Offers.publisher(), token: token).status == 401)
            #expect(try await platform.ask("DELETE", "/pcast/application/tenant").status == 404)
            for method in ["PUT", "DELETE"] {
                #expect(try await platform.ask(method, "/pcast/application/first").status == 409, "\(method)")
            }
            #expect(try await platform.ask("POST", "/pcast/application/first/rotation").status == 409)
        }
    }

    @Test("a limit that was set has precedence over the configuration, until it is reset")
    func limits() async throws {
        try await TestPlatform.run(applications: Self.one) { platform in
            let (stream, _) = try await platform.publish()
            #expect(try await platform.ask("PUT", "/pcast/limit/viewers", #"{"value":0}"#).status == 200)
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer()).status == 503)
            var configuration = platform.configuration
            configuration.limits[.viewers] = 7
            _ = try await platform.platform.apply(configuration)
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer()).status == 503)
            #expect(try await Self.limit(platform, "viewers", "configured")?.number == 7)
            #expect(try await Self.limit(platform, "viewers", "value")?.number == 0)
            let rejected = try #require(try await Self.limit(platform, "viewers", "rejected")?.number)
            #expect(rejected >= 2)
            #expect(try await platform.ask("DELETE", "/pcast/limit/viewers").status == 200)
            #expect(try await Self.limit(platform, "viewers", "value")?.number == 7)
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer()).status == 201)
            for body in [#"{"value":-1}"#, #"{"value":"5"}"#, "{}", #"{"value":1e15}"#] {
                #expect(try await platform.ask("PUT", "/pcast/limit/viewers", body).status == 400, "\(body)")
            }
            #expect(try await platform.ask("PUT", "/pcast/limit/unknown", #"{"value":1}"#).status == 404)
        }
    }

    @Test("applications and limits are kept in the data directory") func persistence() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("changes-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let configure: (inout PlatformConfiguration) -> Void = { $0.storage.directory = directory.path }
        var secret = ""
        try await TestPlatform.runConfigured(applications: Self.one, configure: configure) { platform in
            secret = try Self.secret(try await platform.ask("PUT", "/pcast/application/tenant"))
            _ = try await platform.ask("PUT", "/pcast/application/removed")
            #expect(try await platform.ask("DELETE", "/pcast/application/removed").status == 200)
            #expect(try await platform.ask("PUT", "/pcast/limit/streams", #"{"value":5}"#).status == 200)
        }
        try await TestPlatform.runConfigured(applications: Self.one, configure: configure) { platform in
            let own = try await Self.ask(platform, "GET", "/pcast/streams", id: "tenant", secret: secret)
            #expect(own.status == 200)
            #expect(try await Self.limit(platform, "streams", "value")?.number == 5)
            let list = try await platform.ask("GET", "/pcast/applications")
            #expect(!list.body.contains("removed"))
            // The changes of the first run are in the audit log.
            let audit = try Self.object(try await platform.ask("GET", "/pcast/audit"))
            let paths = try #require(audit["entries"]?.array).compactMap { $0.object?["path"]?.string }
            #expect(
                paths == [
                    "/pcast/limit/streams", "/pcast/application/removed", "/pcast/application/removed",
                    "/pcast/application/tenant",
                ])
        }
        // The configuration has precedence for an identifier.
        let tenant = PlatformConfiguration.Application(id: ApplicationID("tenant"), secret: "configured")
        try await TestPlatform.runConfigured(applications: Self.one + [tenant], configure: configure) { platform in
            let stale = try await Self.ask(platform, "GET", "/pcast/streams", id: "tenant", secret: secret)
            let own = try await Self.ask(platform, "GET", "/pcast/streams", id: "tenant", secret: "configured")
            #expect(stale.status == 401 && own.status == 200)
        }
    }

    @Test("a reload that changes the secret of an application ends its logins, and not those of others")
    func reloadedSecret() async throws {
        try await TestPlatform.run { platform in
            var cookies: [String] = []
            for (id, secret) in [("first", "sesame"), ("second", "treasure")] {
                let login = try await platform.send(
                    "POST", "/dashboard/login", ["PCast-Dashboard": "1", "Content-Type": "application/json"],
                    body: #"{"applicationId":"\#(id)","secret":"\#(secret)"}"#)
                cookies.append(String(try #require(login.header("Set-Cookie")).prefix { $0 != ";" }))
            }
            func statuses() async throws -> [Int] {
                var statuses: [Int] = []
                for cookie in cookies {
                    let headers = ["PCast-Dashboard": "1", "Cookie": cookie]
                    statuses.append(try await platform.send("GET", "/pcast/streams", headers).status)
                }
                return statuses
            }
            #expect(try await statuses() == [200, 200])
            var configuration = platform.configuration
            configuration.applications = [
                .init(id: ApplicationID("first"), secret: "another secret"), TestPlatform.otherApplication,
            ]
            _ = try await platform.platform.apply(configuration)
            #expect(try await statuses() == [401, 200])
        }
    }

    @Test("an application that a reload and the management API add at the same time is one of the configuration")
    func reloadAndAddition() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("changes-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let configure: (inout PlatformConfiguration) -> Void = {
            $0.storage.directory = directory.path
            $0.administrator = TestPlatform.application.id
        }
        try await TestPlatform.runConfigured(applications: Self.one, configure: configure) { platform in
            var configuration = platform.configuration
            for number in 0..<5 {
                let id = "tenant-\(number)"
                configuration.applications.append(.init(id: ApplicationID(id), secret: "configured"))
                let reloaded = configuration
                async let changes = platform.platform.apply(reloaded)
                async let added = platform.ask("PUT", "/pcast/application/\(id)")
                _ = try await changes
                // It was added before the reload, or during or after it.
                let status = try await added.status
                #expect([200, 409].contains(status))
                let own = try await Self.ask(platform, "GET", "/pcast/streams", id: id, secret: "configured")
                #expect(own.status == 200)
            }
        }
        // The database has none that was added, so the configuration removes them.
        try await TestPlatform.runConfigured(applications: Self.one, configure: configure) { platform in
            let list = try await platform.ask("GET", "/pcast/applications")
            #expect(list.status == 200 && !list.body.contains("tenant"))
        }
    }

    @Test("a drained platform rejects new clients, keeps the existing ones, and accepts clients again on request")
    func draining() async throws {
        try await TestPlatform.run(applications: Self.one) { platform in
            _ = try await platform.publish()
            let drained = try await platform.ask("POST", "/pcast/drain")
            #expect(drained.status == 200)
            #expect(try Self.object(drained)["draining"]?.boolean == true)
            #expect(try await platform.post("/whip", try Offers.publisher()).status == 503)
            #expect(try await platform.send("GET", "/healthz").status == 503)
            #expect(try await platform.figure("pcast_streams") == 1)
            let accepting = try await platform.ask("DELETE", "/pcast/drain")
            #expect(try Self.object(accepting)["draining"]?.boolean == false)
            _ = try await platform.publish()
            #expect(try await platform.send("GET", "/healthz").status == 200)
        }
    }

    @Test("with several applications, only a named one administers the platform, and sees the changes of all")
    func administrator() async throws {
        try await TestPlatform.run { platform in
            #expect(try await platform.ask("GET", "/pcast/applications").status == 403)
            let second = try await Self.ask(
                platform, "GET", "/pcast/applications", id: "second", secret: "treasure")
            #expect(second.status == 403)
            // Tokens are no changes, and the changes of another application are not shown.
            #expect(try await platform.ask("POST", "/pcast/auth", "{}").status == 200)
            #expect(try await platform.ask("PUT", "/pcast/key/camera", "{}").status == 200)
            let own = try Self.object(try await platform.ask("GET", "/pcast/audit"))
            #expect(own["entries"]?.array?.compactMap { $0.object?["path"]?.string } == ["/pcast/key/camera"])
            let other = try Self.object(
                try await Self.ask(platform, "GET", "/pcast/audit", id: "second", secret: "treasure"))
            #expect(other["entries"]?.array?.isEmpty == true)

            var configuration = platform.configuration
            configuration.administrator = ApplicationID("second")
            let changes = try await platform.platform.apply(configuration)
            #expect(changes.applied == [.administrator])
            #expect(try await platform.ask("GET", "/pcast/limits").status == 403)
            let limits = try await Self.ask(platform, "GET", "/pcast/limits", id: "second", secret: "treasure")
            #expect(limits.status == 200)
            let all = try Self.object(
                try await Self.ask(platform, "GET", "/pcast/audit", id: "second", secret: "treasure"))
            #expect(all["entries"]?.array?.count == 1)
        }
    }

    @Test("a login by a JSON Web Token has the token's role") func roles() async throws {
        let signer = TokenIssuerTests.Signer("one")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("jwks-\(UUID().uuidString).json")
        try TokenIssuerTests.Signer.set([signer]).write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let configure: (inout PlatformConfiguration) -> Void = {
            $0.tokenIssuer = TokenIssuerConfiguration(
                keys: file.path, issuer: "https://login.example", audience: "pcast")
        }
        let script = ["PCast-Dashboard": "1", "Content-Type": "application/json"]
        try await TestPlatform.runConfigured(applications: Self.one, configure: configure) { platform in
            let (stream, _) = try await platform.publish()
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer()).status == 201)
            for (role, drain, add) in [("view", 403, 403), ("operate", 200, 403), ("administer", 200, 200)] {
                let token = try signer.token(#"{"applicationId":"first","role":"\#(role)"}"#)
                let login = try await platform.send(
                    "POST", "/dashboard/login", script, body: #"{"token":"\#(token)"}"#)
                try #require(login.status == 200)
                let cookie = String(try #require(login.header("Set-Cookie")).prefix { $0 != ";" })
                let headers = script.merging(["Cookie": cookie]) { $1 }
                let page = try await platform.send("GET", "/administration", ["Cookie": cookie])
                #expect(page.body.contains("id=\"applications\"") && page.header("Cache-Control") == "no-store")
                let state = try Self.object(try await platform.send("GET", "/pcast/platform", headers))
                #expect(state["role"]?.string == role && state["administersPlatform"]?.boolean == true)
                // The addresses of viewers are not for the role `view`.
                let viewers = try Self.object(
                    try await platform.send("GET", "/pcast/stream/\(stream)/viewers", headers))
                let viewer = try #require(viewers["viewers"]?.array?.first?.object)
                #expect(viewer["address"]?.string == (role == "view" ? nil : "127.0.0.1"), "\(role)")
                #expect(try await platform.send("POST", "/pcast/drain", headers).status == drain, "\(role)")
                #expect(try await platform.send("PUT", "/pcast/application/new", headers).status == add, "\(role)")
                // Without the header of the page, the cookie is not accepted.
                let forged = try await platform.send("POST", "/pcast/drain", ["Cookie": cookie])
                #expect(forged.status == 401, "\(role)")
            }
            // A token without an application is one of the configured application, also after another one was added.
            let unnamed = try signer.token(#"{"role":"view"}"#)
            #expect(
                try await platform.send("POST", "/dashboard/login", script, body: #"{"token":"\#(unnamed)"}"#).status
                    == 200)
            let media = try signer.token(#"{"applicationId":"first","type":"publish"}"#)
            for token in [media, try TokenIssuerTests.Signer("one").token(#"{"role":"administer"}"#), "x"] {
                let login = try await platform.send(
                    "POST", "/dashboard/login", script, body: #"{"token":"\#(token)"}"#)
                #expect(login.status == 401)
            }
            #expect(try await platform.send("GET", "/administration").body.contains("id=\"tokenlogin\""))
        }
    }

    @Test("the logins of an application end when its secret changes") func secretChange() {
        let now = Instant(nanoseconds: 0)
        var logins = DashboardLogins()
        logins.open("a", of: ApplicationID("first"), at: now)
        logins.open("b", of: ApplicationID("second"), at: now)
        logins.close(ApplicationID("first"))
        let applications = ["a", "b"].map { logins.application(of: $0, at: now) }
        #expect(applications == [nil, ApplicationID("second")])
    }

    @Test("a login ends with its token") func expiry() {
        let second = { (number: Int64) in Instant(nanoseconds: number * 1_000_000_000) }
        var logins = DashboardLogins()
        logins.open(
            "a", of: ApplicationID("first"), role: .operate, subject: "anna", until: second(60), at: second(0))
        let login = logins.login(of: "a", at: second(59))
        #expect(login?.role == .operate && login?.subject == "anna")
        #expect(logins.login(of: "a", at: second(60)) == nil)
    }
}

@Suite("The reason for a viewer's quality")
struct ViewerCauseTests {
    private static let layers = [
        ViewedLayers.Layer(
            name: "high", bitrate: Bitrate(bitsPerSecond: 1_600_000), dimensions: nil, isAvailable: true),
        ViewedLayers.Layer(name: "low", bitrate: Bitrate(bitsPerSecond: 400_000), dimensions: nil, isAvailable: true),
    ]

    private static func viewer(
        _ quality: DataQuality = .good, cause: LayerSelection.Cause = .none, pinned: String? = nil,
        available: Int64 = 600_000, packets: Int = 1_000, lost: Int = 0, roundTrip: TimeSpan = .milliseconds(20),
        isAway: Bool = false
    ) -> ViewerState {
        ViewerState(
            id: StreamID("view-1"), address: nil, age: .seconds(10), quality: quality, qualitySince: nil,
            statistics: PeerStatistics(
                packets: packets, bytes: 0, packetsLost: lost, nackCount: 0, pliCount: 0, roundTrip: roundTrip,
                availableBitrate: Bitrate(bitsPerSecond: available), isAway: isAway, viewers: 0),
            layers: ViewedLayers(
                layers: layers, current: "low", pinned: pinned, choice: .layer(1), cause: cause))
    }

    @Test("the first reason that applies is reported, and none for good quality") func causes() {
        #expect(ViewerCause(Self.viewer()) == nil)
        #expect(ViewerCause(Self.viewer(cause: .link))?.message == "its link carries 0.6 of 1.6 Mbit/s")
        #expect(ViewerCause(Self.viewer(cause: .link, available: 2_000_000))?.message == "its link carries 2.0 Mbit/s")
        #expect(ViewerCause(Self.viewer(cause: .link, isAway: true))?.code == "away")
        let upload = DataQuality(status: .all, reason: .uploadLimited)
        #expect(ViewerCause(Self.viewer(upload, cause: .publisher))?.message == "the publisher's uplink is too slow")
        #expect(ViewerCause(Self.viewer(cause: .publisher))?.code == "publisher")
        #expect(ViewerCause(Self.viewer(cause: .pin, pinned: "low"))?.message == "the viewer selected the layer low")
        #expect(ViewerCause(Self.viewer(lost: 31))?.message == "3.1 % of the packets were lost")
        #expect(ViewerCause(Self.viewer(packets: 10, lost: 5)) == nil)
        #expect(ViewerCause(Self.viewer(roundTrip: .milliseconds(420)))?.message == "the round trip takes 420 ms")
    }

    @Test("the viewers of a stream are listed for its own application") func list() async throws {
        try await TestPlatform.run { platform in
            let (stream, _) = try await platform.publish()
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer()).status == 201)
            let answer = try await platform.ask("GET", "/pcast/stream/\(stream)/viewers")
            let list = try #require(try JSONValue(Array(answer.body.utf8)).object)
            #expect(list["total"]?.number == 1)
            let viewer = try #require(list["viewers"]?.array?.first?.object)
            #expect(viewer["address"]?.string == "127.0.0.1")
            #expect(viewer["viewId"]?.string?.hasPrefix("view-") == true)
            #expect(try await platform.ask("GET", "/pcast/stream/none/viewers").status == 404)
            #expect(try await platform.ask("GET", "/pcast/stream/\(stream)/viewers?length=0").status == 400)
            let foreign = ["Authorization": "Basic \(Base64.encode(Array("second:treasure".utf8)))"]
            let other = try await platform.send("GET", "/pcast/stream/\(stream)/viewers", foreign)
            #expect(other.status == 404)
        }
    }
}
