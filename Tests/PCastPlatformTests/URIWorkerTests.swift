import Foundation
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastPlatform
import PCastSignaling
import Testing

/// Streams from and to addresses, within the platform. End-to-end tests cover the worker itself.
@Suite("Streams from and to addresses")
struct URIWorkerTests {
    private static func token(_ capabilities: [String], publishing: Bool = true) throws -> String {
        try Tokens.make { builder in
            capabilities.reduce(publishing ? builder.forPublishingOnly() : builder.forStreamingOnly()) {
                $0.withCapability($1)
            }
        }
    }

    private static func request(
        _ token: String, _ uri: String, origin: String? = nil, options: [String] = []
    ) -> SignalingRequest {
        var create = PCastCreateStream()
        create.sessionID = ""
        create.connectUri = uri
        create.connectOptions = options
        if let origin { create.originStreamID = origin }
        var message = PCastSetupStream()
        message.streamToken = token
        message.createStream = create
        return .setupStream(message)
    }

    /// Returns a worker that runs the script.
    private static func workers(_ script: String = "exit 1", limit: Int = 16) -> JobConfiguration {
        JobConfiguration(
            program: "/bin/sh", arguments: ["-c", script], networks: [IPNetwork("127.0.0.1")!],
            listenerPorts: 9_000...9_010, limit: limit)
    }

    /// A script that reports that it listens, and waits for the end of its input.
    private static let listening = #"read order; echo '{"listening":{}}'; cat > /dev/null"#

    /// Returns the reason for which a stream was rejected, as its client receives it.
    private static func reason(_ request: SignalingRequest, _ client: ProtocolClient) async throws -> String? {
        guard case .setupStream(let response)? = try await client.response(request) else { return nil }
        return response.refusalReason
    }

    private static func run(
        _ workers: JobConfiguration?, _ body: @Sendable (ProtocolClient) async throws -> Void
    ) async throws {
        try await TestPlatform.run(workers: workers) { platform in
            try await ProtocolClient.run(platform) { client in
                try #require(try await client.authenticate(Tokens.make { $0.forAuthenticationOnly() }) != nil)
                try await body(client)
            }
        }
    }

    @Test("a token without the capability can neither pull nor push, and neither can a missing token")
    func capability() async throws {
        try await Self.run(Self.workers(Self.listening)) { client in
            let uri = "srt://0.0.0.0:9001?mode=listener"
            for token in [
                "", try Self.token([]), try Self.token(["egress", "streaming"]),
                try Self.token(["publish-uri"], publishing: false),
            ] {
                #expect(try await client.ask(Self.request(token, uri)) == .unauthorized)
            }
            let viewing = try Self.token(["publish-uri"], publishing: false)
            #expect(try await client.ask(Self.request(viewing, "srt://127.0.0.1:9", origin: "none")) == .unauthorized)
            let pushing = try Self.token(["egress"], publishing: false)
            #expect(
                try await client.ask(Self.request(pushing, "srt://127.0.0.1:9", origin: "none")) == .noStreamPlaying)
        }
    }

    @Test("a platform without workers reports so")
    func absent() async throws {
        try await Self.run(nil) { client in
            let request = Self.request(try Self.token(["publish-uri"]), "srt://0.0.0.0:9001?mode=listener")
            #expect(try await client.ask(request) == .badRequest)
        }
    }

    @Test("addresses that the platform does not allow are rejected before a worker is started")
    func addresses() async throws {
        // Every worker that is started would report that it runs.
        try await Self.run(Self.workers(#"read order; echo '{"running":{}}'; cat > /dev/null"#)) { client in
            let token = try Self.token(["publish-uri"])
            for uri in [
                "http://127.0.0.2/", "http://169.254.169.254/latest", "rtsp://10.0.0.1/",
                "rtmp://192.168.0.1/app/key", "srt://[::1]:9000", "https://2130706434/", "file:///etc/passwd",
                "srt://0.0.0.0:9011?mode=listener", "srt://0.0.0.0:80?mode=listener",
                "srt://127.0.0.9:9001?mode=listener", "srt://127.0.0.1:9001?mode=rendezvous", "tcp://127.0.0.1:22",
                "whep://127.0.0.2/", "whip://127.0.0.1:1/", "concat:http://127.0.0.1/", "udp://127.0.0.1:1",
                "subfile,,start,0,end,9,,:/etc/passwd",
            ] {
                #expect(try await client.ask(Self.request(token, uri)) == .badRequest, "\(uri)")
            }
            #expect(try await client.setUp(Self.request(token, "http://127.0.0.1:1/")) != nil)
            #expect(
                try await client.ask(
                    Self.request(token, "http://127.0.0.1:1/", options: ["source-uri-video-fps=many"])) == .badRequest)
        }
    }

    @Test("the client receives the reason why an address is unused, without its secrets")
    func reasons() async throws {
        try await Self.run(Self.workers("exit 1")) { client in
            let token = try Self.token(["publish-uri"])
            let file = try await Self.reason(Self.request(token, "file:///etc/passwd"), client)
            #expect(
                file
                    == "The URI is rejected: file URIs are not allowed; the operator can allow them with --media-directory."
            )
            let address = Self.request(token, "http://hidden:hidden@127.0.0.1:1/film?key=hidden")
            let failed = try #require(try await Self.reason(address, client))
            #expect(failed.contains("http://127.0.0.1:1/film") && !failed.contains("hidden"))
        }
    }

    @Test("a stream that waits for its encoder can be ended only by its client or backend")
    func waiting() async throws {
        try await TestPlatform.run(workers: Self.workers(Self.listening)) { platform in
            try await ProtocolClient.run(platform) { client in
                try #require(try await client.authenticate(Tokens.make { $0.forAuthenticationOnly() }) != nil)
                let request = Self.request(
                    try Self.token(["publish-uri"]), "srt://0.0.0.0:9001?mode=listener")
                let first = try #require(try await client.setUp(request))
                #expect(try await client.ask(Requests.destroy("other", reason: "ended")) == .gone)
                #expect(try await client.ask(Requests.destroy(first, reason: "custom words")) == .ok)
                #expect(try await client.reason(first) == "custom words")
                #expect(try await client.ask(Requests.destroy(first, reason: "ended")) == .gone)
            }
        }
    }

    @Test("a worker that dies before it runs is a failure, and at most the permitted number runs")
    func limits() async throws {
        try await Self.run(Self.workers("exit 1")) { client in
            let request = Self.request(try Self.token(["publish-uri"]), "http://127.0.0.1:1/")
            #expect(try await client.ask(request) == .failed)
        }
        try await Self.run(Self.workers(Self.listening, limit: 1)) { client in
            let request = Self.request(try Self.token(["publish-uri"]), "srt://0.0.0.0:9001?mode=listener")
            let stream = try #require(try await client.setUp(request))
            #expect(try await client.ask(request) == .capacity)
            #expect(try await client.ask(Requests.destroy(stream, reason: "")) == .ok)
            #expect(try await eventually { try await client.setUp(request) != nil })
        }
    }

    @Test("a worker that exits later ends its stream as failed")
    func exitAfterStart() async throws {
        // The worker lives as long as a file, which the test deletes after its stream has begun.
        let life = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)")
        try Data().write(to: life)
        defer { try? FileManager.default.removeItem(at: life) }
        let script =
            #"read order; echo '{"listening":{}}'; while [ -e '\#(life.path)' ]; do sleep 0.02; done; exit 9"#
        try await Self.run(Self.workers(script)) { client in
            let request = Self.request(try Self.token(["publish-uri"]), "srt://0.0.0.0:9001?mode=listener")
            let stream = try #require(try await client.setUp(request))
            try FileManager.default.removeItem(at: life)
            #expect(try await client.reason(stream) == "failed")
        }
    }

    @Test("a worker that writes without end is killed, and its stream ends as failed")
    func flood() async throws {
        let script = #"read order; echo '{"listening":{}}'; exec yes noise"#
        try await Self.run(Self.workers(script)) { client in
            let request = Self.request(try Self.token(["publish-uri"]), "srt://0.0.0.0:9001?mode=listener")
            let stream = try #require(try await client.setUp(request))
            #expect(try await client.reason(stream) == "failed")
        }
    }

    @Test("requests that wait for the addresses of their hosts count towards the limit of workers")
    func resolutions() async throws {
        try await Self.run(Self.workers(Self.listening, limit: 1)) { client in
            let token = try Self.token(["publish-uri"])
            // A request whose address is rejected does not count any more.
            for _ in 0..<3 {
                #expect(try await client.ask(Self.request(token, "http://192.168.1.1/")) == .badRequest)
            }
            #expect(try await client.setUp(Self.request(token, "srt://0.0.0.0:9001?mode=listener")) != nil)
            #expect(try await client.ask(Self.request(token, "http://192.168.1.1/")) == .capacity)
        }
    }

    /// Returns the credential that a worker has written to its error output, which is read independently of the other one.
    private static func credential(in log: LogRecord) async throws -> String {
        let find = { log.lines.lazy.compactMap { $0.firstMatch(of: /work-[0-9a-z]{26}/)?.output }.first }
        _ = try await eventually { find() != nil }
        return String(try #require(find()))
    }

    @Test("a worker's credential is not on its command line, and is valid for its stream only")
    func credential() async throws {
        // The worker prints the order that it got, which the platform's log never does.
        let script = #"read order; echo "$order" >&2; echo '{"listening":{}}'; cat > /dev/null"#
        let log = LogRecord()
        try await TestPlatform.run(logger: log.logger, workers: Self.workers(script)) { platform in
            try await ProtocolClient.run(platform) { client in
                let token = try Tokens.make { $0.forAuthenticationOnly() }
                try #require(try await client.authenticate(token) != nil)
                let request = Self.request(
                    try Self.token(["publish-uri"]), "srt://0.0.0.0:9001?mode=listener")
                let stream = try #require(try await client.setUp(request))
                let credential = try await Self.credential(in: log)
                try await ProtocolClient.run(platform) { worker in
                    let session = try await worker.authenticate(credential)
                    #expect(session != nil)
                    #expect(try await worker.ask(Requests.view(credential)) == .unauthorized)
                    #expect(
                        try await worker.ask(Self.request(credential, "http://127.0.0.1:1/")) == .unauthorized)
                    #expect(try await worker.setUp(Requests.publish(credential)) == stream)
                    #expect(try await worker.ask(Requests.publish(credential)) == .conflict)
                    #expect(try await client.ask(Requests.destroy(stream, reason: "done")) == .ok)
                    #expect(try await worker.reason(stream) == "done")
                }
                #expect(try await client.reason(stream) == "done")
                try await ProtocolClient.run(platform) { other in
                    let session = try await other.authenticate(credential)
                    #expect(session == nil)
                }
            }
        }
    }

    @Test("a worker's sessions count for the client that started it, not for the worker's address")
    func joins() async throws {
        let script = #"read order; echo "$order" >&2; echo '{"listening":{}}'; cat > /dev/null"#
        let log = LogRecord()
        let configure: (inout PlatformConfiguration) -> Void = {
            $0.jobs = Self.workers(script)
            $0.limits[.sessionsPerAddress] = 1
            $0.limits[.streamsPerAddress] = 1
            $0.trustedProxies = [IPNetwork("127.0.0.1")!]
        }
        try await TestPlatform.runConfigured(logger: log.logger, configure: configure) { platform in
            // The address may have only this one session and this one stream.
            let (_, publisher) = try await platform.publish(token: Tokens.publishing())
            try await ProtocolClient.run(platform) { client in
                let token = try Tokens.make { $0.forAuthenticationOnly() }
                try #require(try await client.authenticate(token) != nil)
                let request = Self.request(try Self.token(["publish-uri"]), "srt://0.0.0.0:9001?mode=listener")
                let stream = try #require(try await client.setUp(request))
                let credential = try await Self.credential(in: log)
                try await ProtocolClient.run(platform) { worker in
                    let session = try await worker.authenticate(credential)
                    #expect(session != nil, "a session of the job does not count for this address")
                    // The worker's stream counts for its client, which already has one.
                    #expect(try await worker.ask(Requests.publish(credential)) == .capacity)
                    #expect(try await platform.send("DELETE", publisher).status == 200)
                    #expect(
                        try await eventually { try await worker.setUp(Requests.publish(credential)) == stream })
                    #expect(try await platform.figure("pcast_streams") == 1)
                    let another = try await platform.post(
                        "/whip", try Offers.publisher(), token: try Tokens.publishing())
                    #expect(another.status == 503)
                }
                #expect(try await client.ask(Requests.destroy(stream, reason: "done")) == .ok)
            }
        }
    }

    @Test("the permitted addresses and number of workers change while the platform runs")
    func reloaded() async throws {
        try await TestPlatform.run(workers: Self.workers(Self.listening, limit: 1)) { platform in
            try await ProtocolClient.run(platform) { client in
                try #require(try await client.authenticate(Tokens.make { $0.forAuthenticationOnly() }) != nil)
                let token = try Self.token(["publish-uri"])
                let request = Self.request(token, "srt://0.0.0.0:9001?mode=listener")
                let first = try #require(try await client.setUp(request))
                #expect(try await client.ask(request) == .capacity)
                var configuration = platform.configuration
                configuration.jobs?.limit = 2
                configuration.jobs?.listenerPorts = 9_005...9_010
                let changes = try await platform.platform.apply(configuration)
                #expect(changes.applied == [.srtPullPorts, .maxJobs] && changes.needRestart.isEmpty)
                // Running jobs continue, and new ones are checked against the new configuration.
                #expect(try await client.ask(request) == .badRequest)
                let other = Self.request(token, "srt://0.0.0.0:9005?mode=listener")
                let second = try #require(try await client.setUp(other))
                configuration.jobs = nil
                _ = try await platform.platform.apply(configuration)
                #expect(try await client.ask(other) == .badRequest)
                for stream in [first, second] {
                    #expect(try await client.ask(Requests.destroy(stream, reason: "ended")) == .ok)
                }
            }
        }
    }
}
