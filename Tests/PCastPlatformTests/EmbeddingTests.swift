import AsyncHTTPClient
import CoreMetrics
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import PCastCore
import PCastEdgeAuth
import PCastIO
import ServiceLifecycle
import Synchronization
import Testing

@testable import PCastPlatform

/// A platform in a program with its own routes and services. The code of the DocC article "Embedding" is here.
@Suite(.timeLimit(.minutes(5))) struct EmbeddingTests {
    /// A host application and the platform on its router, in one group of services.
    private struct Host: Sendable {
        let platform: TestPlatform
        let group: ServiceGroup
        /// The port of the host's server with TLS; nil if it has none.
        let securePort: Int?

        private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

        /// Runs `body` with a host that has stopped gracefully when this returns.
        static func run(
            isSecure: Bool = false, authentication: @escaping AuthenticationHook = { _ in .permit },
            metrics: MetricsRecorder = MetricsRecorder(), _ body: (Host) async throws -> Void
        ) async throws {
            var configuration = PlatformConfiguration(
                host: "127.0.0.1", port: 0, rtcPort: 0,
                applications: [TestPlatform.application, TestPlatform.otherApplication], tlsPort: isSecure ? 0 : nil)
            TestPlatform.disableTimeouts(&configuration)
            let platform = Platform(
                configuration, authentication: authentication, metrics: metrics, logger: logger)
            let router = Router(context: PlatformRequestContext.self)
            router.get("/") { _, _ in "the host" }
            platform.addRoutes(to: router, .all.subtracting(.dashboard))

            let ports = AsyncStream<Int>.makeStream()
            let server = platform.server
            let application = Application(
                router: router, server: server.builder,
                configuration: .init(address: .hostname("127.0.0.1", port: 0)),
                onServerRunning: { channel in
                    await server.didStart(on: channel)
                    ports.continuation.yield(channel.localAddress?.port ?? 0)
                }, logger: logger)
            let securePorts = AsyncStream<Int>.makeStream()
            let secure = platform.secureServer
            let secureApplication = Application(
                router: router, server: secure.builder,
                configuration: .init(address: .hostname("127.0.0.1", port: 0)),
                onServerRunning: { channel in
                    await secure.didStart(on: channel)
                    securePorts.continuation.yield(channel.localAddress?.port ?? 0)
                }, logger: logger)

            let services: [any Service] =
                isSecure ? [application, secureApplication, platform] : [application, platform]
            let group = ServiceGroup(configuration: .init(services: services, logger: logger))
            let task = Task { try await group.run() }
            let port = try #require(await ports.stream.first { _ in true })
            let securePort = isSecure ? await securePorts.stream.first { _ in true } : nil
            let listening = PlatformListening(
                uri: "http://127.0.0.1:\(port)", rtcPort: 0, advertised: [], tlsPort: securePort,
                allowsAnonymousLoopback: true, applications: configuration.applications)
            let test = TestPlatform(
                listening: listening, platform: platform, configuration: configuration, task: task)
            let result: Result<Void, any Error>
            do {
                try #require(try await eventually { try await test.send("GET", "/healthz").status == 200 })
                try await body(Host(platform: test, group: group, securePort: securePort))
                result = .success(())
            } catch {
                result = .failure(error)
            }
            await group.triggerGracefulShutdown()
            try await task.value
            try result.get()
        }
    }

    /// A metrics system that keeps the values of all its metrics.
    private final class MetricsRecorder: MetricsFactory {
        private final class Handler: CounterHandler, RecorderHandler, TimerHandler {
            let name: String
            private let record: @Sendable ((Double) -> Double) -> Void

            init(_ name: String, _ record: @escaping @Sendable ((Double) -> Double) -> Void) {
                self.name = name
                self.record = record
            }

            func increment(by amount: Int64) { record { $0 + Double(amount) } }
            func reset() { record { _ in 0 } }
            func record(_ value: Int64) { record { _ in Double(value) } }
            func record(_ value: Double) { record { _ in value } }
            func recordNanoseconds(_ duration: Int64) { record { _ in Double(duration) } }
        }

        private let state = Mutex<[String: Double]>([:])

        /// The values by name, with labels as in `name{label=value}`.
        var values: [String: Double] { state.withLock { $0 } }

        private func make(_ label: String, _ dimensions: [(String, String)]) -> Handler {
            let labels = dimensions.map { "\($0)=\($1)" }.joined(separator: ",")
            let name = labels.isEmpty ? label : "\(label){\(labels)}"
            state.withLock { $0[name] = 0 }
            return Handler(name) { [weak self] change in
                self?.state.withLock { $0[name] = change($0[name] ?? 0) }
            }
        }

        private func destroy(_ handler: AnyObject) {
            guard let handler = handler as? Handler else { return }
            state.withLock { $0[handler.name] = nil }
        }

        func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
            make(label, dimensions)
        }
        func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
            make(label, dimensions)
        }
        func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { make(label, dimensions) }
        func destroyCounter(_ handler: any CounterHandler) { destroy(handler) }
        func destroyRecorder(_ handler: any RecorderHandler) { destroy(handler) }
        func destroyTimer(_ handler: any TimerHandler) { destroy(handler) }
    }

    // MARK: Routes and servers

    @Test("the routes on a host's router respond as on the platform's own port, beside the routes of the host")
    func routes() async throws {
        let paths = [
            "/publish", "/watch", "/watch/stream-x", "/overlay/", "/assets/pcast.css", "/assets/none", "/pcast.mjs",
            "/bridge.js", "/whip", "/whep", "/whep/stream-x", "/whip/resource/none", "/pcast/openapi.json",
            "/pcast/endPoints", "/pcast/streams", "/pcast/none", "/telemetry/logs", "/timeline/league/game", "/healthz",
            "/metrics", "/none",
        ]
        var own: [String: Int] = [:]
        try await TestPlatform.run { platform in
            for method in ["GET", "HEAD", "OPTIONS", "DELETE"] {
                for path in paths { own["\(method) \(path)"] = try await platform.send(method, path).status }
            }
        }
        #expect(Set(own.values).isSuperset(of: [200, 204, 401, 404, 405]))
        try await Host.run { host in
            for method in ["GET", "HEAD", "OPTIONS", "DELETE"] {
                for path in paths {
                    let status = try await host.platform.send(method, path).status
                    #expect(status == own["\(method) \(path)"], "\(method) \(path)")
                }
            }
            #expect(try await host.platform.send("GET", "/").body == "the host")
            #expect(try await host.platform.send("GET", "/dashboard/login").status == 404)
            // A WHIP resource is at the path that the response names.
            let (_, resource) = try await host.platform.publish()
            #expect(try await host.platform.send("DELETE", resource).status == 200)
        }
    }

    @Test("a client of the protocol publishes through the host's server")
    func webSocket() async throws {
        try await Host.run { host in
            try await ProtocolClient.run(host.platform) { client in
                _ = try #require(try await client.authenticate())
                let published = try #require(try await client.setUp(try Requests.publish()))
                #expect(await host.platform.platform.streams().map(\.id.description) == [published])
            }
        }
    }

    @Test("the host's server with TLS uses the platform's certificate, and clients receive its port for TURN")
    func security() async throws {
        try await Host.run(isSecure: true) { host in
            let port = try #require(host.securePort)
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.certificateVerification = .none
            let client = HTTPClient(
                eventLoopGroupProvider: .singleton, configuration: .init(tlsConfiguration: configuration))
            let status = try? await client.execute(
                HTTPClientRequest(url: "https://127.0.0.1:\(port)/publish"), timeout: .minutes(5)
            ).status.code
            try await client.shutdown()
            #expect(status == 200)
            let answer = try await host.platform.post("/whip", try Offers.publisher())
            #expect(answer.status == 201)
            let link = try #require(answer.header("Link"))
            #expect(link.contains("turns:127.0.0.1:\(port)?transport=tcp"), "\(link)")
        }
    }

    @Test("routes of a platform that does not run respond with 503")
    func notRunning() async throws {
        let router = Router(context: PlatformRequestContext.self)
        let platform = Platform(PlatformConfiguration(port: 0, rtcPort: 0))
        platform.addRoutes(to: router, .health)
        #expect(await platform.streams().isEmpty)
        #expect(await !platform.end(StreamID("stream-x")))
        let ports = AsyncStream<Int>.makeStream()
        let application = Application(
            router: router, server: platform.server.builder,
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { ports.continuation.yield($0.localAddress?.port ?? 0) })
        let group = ServiceGroup(
            configuration: .init(
                services: [application], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
        let task = Task { try await group.run() }
        let port = try #require(await ports.stream.first { _ in true })
        let response = try await HTTPClient.shared.execute(
            HTTPClientRequest(url: "http://127.0.0.1:\(port)/healthz"), timeout: .minutes(5))
        #expect(response.status == .serviceUnavailable && response.headers.first(name: "Retry-After") == "1")
        await group.triggerGracefulShutdown()
        try await task.value
    }

    // MARK: Services and streams

    @Test("a graceful shutdown of the host's group ends all streams for clients that are still connected")
    func shutdown() async throws {
        try await Host.run { host in
            let reported = Self.follow(host.platform.platform)
            try await ProtocolClient.run(host.platform) { client in
                _ = try #require(try await client.authenticate())
                let published = try #require(try await client.setUp(try Requests.publish()))
                await host.group.triggerGracefulShutdown()
                #expect(try await client.reason(published) == "maintenance")
                // The events end with the platform.
                let lines = await reported.value
                #expect(lines.first == "\(published) is live")
                #expect(lines.last == "\(published) has ended: maintenance")
            }
        }
    }

    /// Returns a line for each event until the platform stops.
    private static func follow(_ platform: Platform) -> Task<[String], Never> {
        let events = platform.events()
        return Task {
            var lines: [String] = []
            for await event in events {
                switch event {
                case .started(let stream), .resumed(let stream): lines.append("\(stream.id) is live")
                case .qualityChanged(let stream, let quality): lines.append("\(stream) is \(quality.status)")
                case .ended(let stream, let reason, _): lines.append("\(stream) has ended: \(reason)")
                case .named(let name, _, let event): lines.append("\(name): \(event)")
                }
            }
            return lines
        }
    }

    @Test("a host ends the streams without viewers")
    func unwatched() async throws {
        try await Host.run { host in
            let platform = host.platform.platform
            let (watched, _) = try await host.platform.publish()
            #expect(try await host.platform.post("/whep/\(watched)", try Offers.viewer()).status == 201)
            _ = try await host.platform.publish()
            for stream in await platform.streams() where stream.viewers == 0 {
                await platform.end(stream.id, reason: .capacity)
            }
            #expect(try await eventually { await platform.streams().map(\.id.description) == [watched] })
        }
    }

    @Test("a host receives the start and the end of a stream, lists it and ends it")
    func streams() async throws {
        try await Host.run { host in
            let platform = host.platform.platform
            var events = platform.events().makeAsyncIterator()
            let (stream, resource) = try await host.platform.publish()
            guard case .started(let started)? = await events.next() else {
                Issue.record("the first event is not the start of the stream")
                return
            }
            #expect(started.id == StreamID(stream) && started.application == TestPlatform.application.id)
            let offer = try Offers.viewer()
            #expect(try await host.platform.post("/whep/\(stream)", offer).status == 201)

            let streams = await platform.streams()
            #expect(streams.map(\.id.description) == [stream])
            #expect(streams.map(\.viewers) == [1])

            let text = String(repeating: "a", count: 200)
            #expect(await platform.end(StreamID(stream), reason: .custom, description: text))
            var ended: StreamEvent?
            while let event = await events.next() {
                ended = event
                if case .ended = event { break }
            }
            let description = String(repeating: "a", count: 120)
            #expect(ended == .ended(StreamID(stream), .custom, description: description))
            #expect(try await eventually { try await host.platform.send("GET", resource).status == 404 })
            #expect(await platform.streams().isEmpty)
            #expect(await !platform.end(StreamID(stream)))
        }
    }

    @Test("a slow reader of events misses the oldest, and each reader receives all others")
    func readers() async {
        let hub = StreamEventHub()
        let (one, other) = (hub.events(), hub.events())
        for number in 0...StreamEventHub.backlog {
            hub.yield(.ended(StreamID("\(number)"), .ended, description: ""))
        }
        hub.finish()
        for events in [one, other] {
            let all = await events.reduce(into: []) { $0.append($1) }
            #expect(all.count == StreamEventHub.backlog)
            #expect(all.first == .ended(StreamID("1"), .ended, description: ""))
        }
    }

    // MARK: Authentication and metrics

    @Test("a host rejects a client that EdgeAuth accepts, and EdgeAuth one that the host would permit")
    func authentication() async throws {
        let requests = Mutex<[AuthenticationRequest]>([])
        let hook: AuthenticationHook = { request in
            requests.withLock { $0.append(request) }
            guard request.tags.contains("guest"), request.purpose == .publish else { return .permit }
            return .reject("Guests may watch, but not publish.")
        }
        try await Host.run(authentication: hook) { host in
            let application = TestPlatform.application
            let token = { (tag: String, secret: String) in
                try EdgeTokenBuilder().withApplicationId(application.id.description).withSecret(secret)
                    .expiresAt(milliseconds: MonotonicClock.wallTime().millisecondsSinceEpoch + 3_600_000)
                    .forPublishingOnly().applyTag(tag).build()
            }
            let offer = try Offers.publisher()
            let rejected = try await host.platform.post("/whip", offer, token: try token("guest", application.secret))
            #expect(rejected.status == 401 && rejected.body.contains("\"Guests may watch, but not publish.\""))
            #expect(await host.platform.platform.streams().isEmpty)
            let member = try await host.platform.publish(token: try token("member", application.secret))
            #expect(try await host.platform.post("/whip", offer, token: try token("member", "wrong")).status == 401)
            #expect(try await host.platform.post("/whep/\(member.stream)", try Offers.viewer()).status == 201)
            let seen = requests.withLock { $0 }
            #expect(seen.map(\.purpose) == [.publish, .publish, .subscribe(StreamID(member.stream))])
            #expect(seen.map(\.tags) == [["guest"], ["member"], []])
            #expect(seen.map(\.hasToken) == [true, true, false])
            #expect(seen.allSatisfy { $0.application == application.id && $0.address == .loopbackV4 })
        }
    }

    @Test("a session is opened only if the host permits it")
    func session() async throws {
        try await Host.run(authentication: { $0.purpose == .openSession ? .reject("Closed.") : .permit }) { host in
            try await ProtocolClient.run(host.platform) { client async throws in
                #expect(try await client.authenticate() == nil)
            }
        }
    }

    @Test("a host's metrics system receives the metrics, and those of an ended stream are removed")
    func metrics() async throws {
        let recorder = MetricsRecorder()
        try await Host.run(metrics: recorder) { host in
            let (stream, resource) = try await host.platform.publish()
            let own = "pcast_stream_viewers{application=\(TestPlatform.application.id),stream=\(stream)}"
            #expect(try await eventually { recorder.values["pcast_streams"] == 1 && recorder.values[own] == 0 })
            _ = try await host.platform.send("DELETE", resource)
            #expect(try await eventually { recorder.values["pcast_streams"] == 0 && recorder.values[own] == nil })
            let started = "pcast_streams_started_total{application=\(TestPlatform.application.id)}"
            #expect(recorder.values[started] == 1)
        }
        #expect(recorder.values.isEmpty)
    }

    @Test("a counter receives the increase since the last sample, and a histogram becomes two counters")
    func samples() {
        let recorder = MetricsRecorder()
        var reported = ReportedMetrics()
        for (count, milliseconds) in [(3, [20]), (5, [20, 1_980])] {
            var histogram = Histogram(milliseconds: [25, 50])
            for duration in milliseconds { histogram.add(.milliseconds(Int64(duration))) }
            var metrics = MetricsText()
            metrics.add("pcast_things_total", .counter, "Things.", count)
            metrics.add("pcast_level", .gauge, "Level.", [([("layer", "0")], "1.5")])
            metrics.add("process_open_fds", .gauge, "Descriptors.", 7)
            metrics.add("pcast_wait_seconds", "Wait.", [(nil, histogram)])
            reported.report(metrics, to: recorder)
        }
        #expect(
            recorder.values == [
                "pcast_things_total": 5, "pcast_level{layer=0}": 1.5, "pcast_wait_seconds_count": 2,
                "pcast_wait_seconds_sum": 2,
            ])
        #expect(reported.count == 4)
        reported.report(MetricsText(), to: recorder)
        #expect(recorder.values.isEmpty && reported.count == 0)
    }
}
