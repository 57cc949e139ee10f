import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastPlatform
import PCastSignaling
import Testing

/// Each restriction of a token at each endpoint, from one table.
@Suite("Every endpoint applies all restrictions of tokens") struct EndpointTokenTests {
    enum Door: String, CaseIterable, Sendable {
        case session, publishing, viewing, whip, whep, whepOfStream, administration

        var publishes: Bool { self == .publishing || self == .whip }
        var views: Bool { self == .viewing || self == .whep || self == .whepOfStream }

        /// Builds the kind of token that the endpoint accepts.
        func right(_ builder: EdgeTokenBuilder) -> EdgeTokenBuilder {
            publishes
                ? builder.forPublishingOnly() : views ? builder.forStreamingOnly() : builder.forAuthenticationOnly()
        }
    }

    /// The faults of a token.
    enum Fault: String, CaseIterable, Sendable {
        case expired, forged, changed, cut, lengthened, unreadable, notADigest, unknownApplication
        case authenticationKind, publishingKind, streamingKind
        case otherSession, endedSession, otherAddress, unreadableAddress, otherStream, otherTag

        /// Whether the fault can occur at an endpoint.
        func concerns(_ endpoint: Door) -> Bool {
            switch self {
            case .authenticationKind: endpoint != .session && endpoint != .administration
            // A session that is opened by a stream's token is valid for that token only.
            case .publishingKind: endpoint.views
            case .streamingKind: endpoint.publishes
            // Without an ID in the request the newest matching stream is selected, or none.
            case .otherStream, .otherTag: endpoint == .whepOfStream || endpoint == .viewing
            default: true
            }
        }

        /// The words for the restriction in the log.
        var restriction: String {
            switch self {
            case .expired: "expired"
            case .forged, .changed: "bad-digest"
            case .cut, .lengthened, .unreadable, .notADigest: "bad-token"
            case .unknownApplication: "unknown application"
            case .authenticationKind, .publishingKind, .streamingKind: "type does not permit"
            case .otherSession, .endedSession: "another session"
            case .otherAddress, .unreadableAddress: "another remote address"
            case .otherStream: "another origin stream"
            case .otherTag: "required tag"
            }
        }
    }

    private struct Scene {
        let platform: TestPlatform
        let record: LogRecord
        let stream: String
        /// A session that has ended.
        let endedSession: String
    }

    private func token(_ fault: Fault, _ endpoint: Door, _ scene: Scene) throws -> String {
        let right = { (builder: EdgeTokenBuilder) in endpoint.right(builder) }
        let good = try Tokens.make { right($0) }
        return switch fault {
        case .expired: try Tokens.make(lifetime: .seconds(-1)) { right($0) }
        case .forged: try Tokens.make(secret: "wrong") { right($0) }
        case .changed: try Self.changed(good)
        case .cut: String(good.dropLast(9))
        case .lengthened: good + "AAAA"
        case .unreadable: "DIGEST:AAAA"
        case .notADigest: "nonsense"
        case .unknownApplication: try Tokens.make(.init(id: ApplicationID("third"), secret: "sesame")) { right($0) }
        case .authenticationKind: try Tokens.make { $0.forAuthenticationOnly() }
        case .publishingKind: try Tokens.make { $0.forPublishingOnly() }
        case .streamingKind: try Tokens.make { $0.forStreamingOnly() }
        case .otherSession: try Tokens.make { right($0).forSession("session-of-another") }
        case .endedSession: try Tokens.make { right($0).forSession(scene.endedSession) }
        case .otherAddress: try Tokens.make { right($0).forRemoteAddress("192.0.2.1") }
        case .unreadableAddress: try Tokens.make { right($0).forRemoteAddress("nonsense") }
        case .otherStream: try Tokens.make { right($0).forOriginStream("stream-of-another") }
        case .otherTag: try Tokens.make { right($0).forTag("blue") }
        }
    }

    /// Returns the token with a modified text and the same digest, so that it would expire later.
    private static func changed(_ token: String) throws -> String {
        let prefix = "DIGEST:"
        let envelope = String(
            decoding: try #require(Base64.decode(String(token.dropFirst(prefix.count)))), as: UTF8.self)
        let changed = envelope.replacing(#"\"expires\":"#, with: #"\"expires\":9"#)
        try #require(changed != envelope)
        return prefix + Base64.encode(Array(changed.utf8))
    }

    /// Returns the endpoint's answer: true for success, false for `unauthorized`, nil for anything else.
    private func knock(_ endpoint: Door, _ token: String, _ scene: Scene) async throws -> Bool? {
        let platform = scene.platform
        return switch endpoint {
        case .session: try await session(platform) { try await $0.ask(Requests.authenticate(token)) }
        case .publishing: try await inSession(platform) { try await $0.ask(try Requests.publish(token)) }
        case .viewing:
            try await inSession(platform) { try await $0.ask(try Requests.view(token, origin: scene.stream)) }
        case .whip: isIn(try await platform.post("/whip", try Offers.publisher(), token: token).status)
        case .whep: isIn(try await platform.post("/whep", try Offers.viewer(), token: token).status)
        case .whepOfStream:
            isIn(try await platform.post("/whep/\(scene.stream)", try Offers.viewer(), token: token).status)
        case .administration:
            isIn(try await platform.send("GET", "/pcast/streams", ["Authorization": "Bearer \(token)"]).status)
        }
    }

    private func isIn(_ status: Int) -> Bool? { (200...201).contains(status) ? true : status == 401 ? false : nil }

    private func isIn(_ status: RequestStatus?) -> Bool? {
        status == .ok ? true : status == .unauthorized ? false : nil
    }

    private actor Box {
        var value: RequestStatus?
        func set(_ value: RequestStatus?) { self.value = value }
    }

    private func session(
        _ platform: TestPlatform, _ ask: @escaping @Sendable (ProtocolClient) async throws -> RequestStatus?
    ) async throws -> Bool? {
        let box = Box()
        try await ProtocolClient.run(platform) { client in await box.set(try await ask(client)) }
        return isIn(await box.value)
    }

    /// The session is opened with another token, so that the stream's token is the one that is checked.
    private func inSession(
        _ platform: TestPlatform, _ ask: @escaping @Sendable (ProtocolClient) async throws -> RequestStatus?
    ) async throws -> Bool? {
        let authentication = try Tokens.make { $0.forAuthenticationOnly() }
        return try await session(platform) { client in
            guard try await client.authenticate(authentication) != nil else { return nil }
            return try await ask(client)
        }
    }

    private func run(_ body: (Scene) async throws -> Void) async throws {
        let record = LogRecord()
        try await TestPlatform.run(logger: record.logger) { platform in
            let (stream, _) = try await platform.publish(
                token: try Tokens.make { $0.forPublishingOnly().applyTag("red") })
            let ended = Box2()
            try await ProtocolClient.run(platform) { client in
                let id = try #require(try await client.authenticate(try Tokens.make()))
                #expect(try await client.ask(Requests.bye(id)) == .ok)
                await ended.set(id)
            }
            try await body(
                Scene(platform: platform, record: record, stream: stream, endedSession: try #require(await ended.value))
            )
        }
    }

    private actor Box2 {
        var value: String?
        func set(_ value: String) { self.value = value }
    }

    @Test(
        "a faulty token is unauthorized, and the log names the restriction but no token", arguments: Door.allCases)
    func faults(endpoint: Door) async throws {
        try await run { scene in
            for fault in Fault.allCases where fault.concerns(endpoint) {
                let token = try token(fault, endpoint, scene)
                let before = scene.record.lines.count
                #expect(try await knock(endpoint, token, scene) == false, "\(fault) at \(endpoint)")
                let lines = scene.record.lines.dropFirst(before)
                // The backend's interface accepts no token and does not read one.
                let word = endpoint == .administration ? "application credentials" : fault.restriction
                #expect(lines.contains { $0.contains(word) }, "\(fault) at \(endpoint): \(lines)")
                let secret = token.dropFirst("DIGEST:".count).dropFirst(60).prefix(40)
                if !secret.isEmpty {
                    #expect(!scene.record.lines.contains { $0.contains(secret) }, "\(fault) at \(endpoint)")
                }
            }
        }
    }

    @Test("a valid token gives access", arguments: Door.allCases.filter { $0 != .administration })
    func good(endpoint: Door) async throws {
        try await run { scene in
            let kind = { (builder: EdgeTokenBuilder) in endpoint.right(builder) }
            var tokens = [try Tokens.make { kind($0) }, try Tokens.make { kind($0).forRemoteAddress("127.0.0.1") }]
            if endpoint.views {
                tokens.append(try Tokens.make { kind($0).forOriginStream(scene.stream) })
                tokens.append(try Tokens.make { kind($0).forTag("red") })
            }
            for token in tokens { #expect(try await knock(endpoint, token, scene) == true) }
        }
    }

    @Test("in a session of one application another's token is unauthorized")
    func foreignApplication() async throws {
        try await run { scene in
            for kind in [true, false] {
                let token = try Tokens.make(TestPlatform.otherApplication) {
                    kind ? $0.forPublishingOnly() : $0.forStreamingOnly()
                }
                let before = scene.record.lines.count
                let isIn = try await inSession(scene.platform) { client in
                    try await client.ask(kind ? try Requests.publish(token) : try Requests.view(token))
                }
                #expect(isIn == false)
                #expect(
                    scene.record.lines.dropFirst(before).contains {
                        $0.contains("the token belongs to another application")
                    })
            }
        }
    }

    @Test("a session's token is unauthorized in another session or at an endpoint without one")
    func replayed() async throws {
        try await run { scene in
            try await ProtocolClient.run(scene.platform) { client in
                let own = try #require(try await client.authenticate(try Tokens.make()))
                let token = try Tokens.make { $0.forStreamingOnly().forSession(own) }
                #expect(try await client.ask(try Requests.view(token)) == .ok)
                for endpoint in [Door.viewing, .whep, .whepOfStream] {
                    #expect(try await knock(endpoint, token, scene) == false, "\(endpoint)")
                }
                let publishing = try Tokens.make { $0.forPublishingOnly().forSession(own) }
                #expect(try await client.ask(try Requests.publish(publishing)) == .ok)
                for endpoint in [Door.publishing, .whip] {
                    #expect(try await knock(endpoint, publishing, scene) == false, "\(endpoint)")
                }
                let authentication = try Tokens.make { $0.forAuthenticationOnly().forSession(own) }
                #expect(try await knock(.session, authentication, scene) == false)
            }
        }
    }
}

/// Tokens of the test's applications.
enum Tokens {
    static func make(
        _ application: PlatformConfiguration.Application = TestPlatform.application, secret: String? = nil,
        lifetime: Duration = .seconds(600), _ restrict: (EdgeTokenBuilder) -> EdgeTokenBuilder = { $0 }
    ) throws -> String {
        let builder = EdgeTokenBuilder().withApplicationId(application.id.description)
            .withSecret(secret ?? application.secret).expiresIn(lifetime, from: MonotonicClock.wallTime())
        return try restrict(builder).build()
    }

    static func publishing() throws -> String { try make { $0.forPublishingOnly() } }

    static func viewing() throws -> String { try make { $0.forStreamingOnly() } }
}
