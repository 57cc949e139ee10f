import AsyncHTTPClient
import HTTPTypes
import Logging
import NIOCore
import NIOHTTP1
import PCastCluster
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastPlatform
import PCastSignaling
import Testing

/// A real platform on free ports of this machine, with two applications.
struct TestPlatform: Sendable {
    static let application = PlatformConfiguration.Application(id: ApplicationID("first"), secret: "sesame")
    static let otherApplication = PlatformConfiguration.Application(id: ApplicationID("second"), secret: "treasure")

    let listening: PlatformListening
    let platform: Platform
    /// The configuration with which it was started.
    let configuration: PlatformConfiguration
    private let task: Task<Void, any Error>

    /// Runs `body` with a platform that has stopped when this returns.
    ///
    /// Its timeouts exceed any delay of a busy machine. A test of a timeout sets that one.
    static func run(
        host: String = "127.0.0.1", advertise: [IPAddress] = [], maximumPeers: Int = 20_000, tlsPort: Int? = nil,
        applications: [PlatformConfiguration.Application] = [application, otherApplication],
        records: StorageConfiguration = StorageConfiguration(),
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        workers: JobConfiguration? = nil, _ body: (TestPlatform) async throws -> Void
    ) async throws {
        var configuration = PlatformConfiguration(
            host: host, port: 0, rtcPort: 0, advertise: advertise, applications: applications,
            maximumPeers: maximumPeers, tlsPort: tlsPort, storage: records)
        configuration.jobs = workers
        disableTimeouts(&configuration)
        try await run(configuration, logger, body)
    }

    /// Runs `body` with a platform whose configuration `configure` changes. It has a separate name, because the
    /// compiler would try both overloads for a trailing closure.
    static func runConfigured(
        applications: [PlatformConfiguration.Application] = [application, otherApplication], tlsPort: Int? = nil,
        records: StorageConfiguration = StorageConfiguration(),
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        configure: (inout PlatformConfiguration) -> Void, _ body: (TestPlatform) async throws -> Void
    ) async throws {
        var configuration = PlatformConfiguration(
            host: "127.0.0.1", port: 0, rtcPort: 0, applications: applications, tlsPort: tlsPort, storage: records)
        disableTimeouts(&configuration)
        configure(&configuration)
        configuration.jobs?.startTimeout = ample
        try await run(configuration, logger, body)
    }

    /// Runs `body` with a platform at a port that another one can have afterwards, and returns the port.
    ///
    /// The port is below the range from which the kernel gives ports to sockets that ask for any (`ip_local_port_range`,
    /// ip(7)). No other socket gets it in between, and no client that reconnects is connected to itself.
    static func runAtChosenPort(_ body: (TestPlatform) async throws -> Void) async throws -> Int {
        while true {
            let port = Int.random(in: 20_000..<32_000)
            do {
                try await runConfigured(configure: { $0.port = port }, body)
                return port
            } catch PlatformError.addressInUse {
                // Another program has the port.
            }
        }
    }

    /// This is longer than any test takes.
    static let ample = TimeSpan.seconds(3_600)

    /// Sets the timeouts that a delayed client or task must not reach, and disables the cache of metrics. Each new timeout
    /// of the configuration belongs here.
    static func disableTimeouts(_ configuration: inout PlatformConfiguration) {
        configuration.metricsCacheTime = .zero
        (configuration.setupTimeout, configuration.sessionTimeout) = (ample, ample.duration)
        (configuration.reconnectGrace, configuration.consumerTimeout) = (ample.duration, ample)
        configuration.firstRequestTimeout = ample
        configuration.secondCodecTimeout = ample
        configuration.signalingTimeouts.request = ample
        configuration.signalingTimeouts.silence = ample
        configuration.signalingTimeouts.authentication = ample
        configuration.signalingTimeouts.closing = ample
        (configuration.storage.callbackTimeout, configuration.storage.writeTimeout) = (ample, ample)
        (configuration.rtmp.setupTimeout, configuration.rtmp.silenceTimeout) = (ample.duration, ample.duration)
        // A delayed publisher does not lose its key to another one.
        configuration.rtmp.replacementTime = ample.duration
        configuration.srt.silenceTimeout = ample.duration
        configuration.rooms.memberTimeout = ample.duration
        configuration.edges.timeLimits.response = ample.duration
        configuration.edges.timeLimits.shortResponse = ample.duration
        configuration.edges.timeLimits.playlist = ample.duration
        (configuration.edges.timeLimits.ready, configuration.edges.timeLimits.setup) = (ample, ample)
        // A link without media is closed in time for another attempt in a test.
        (configuration.edges.timeLimits.waiting, configuration.edges.timeLimits.media) = (ample, .seconds(30))
        (configuration.clusterTiming.lease, configuration.clusterTiming.removal) = (ample, ample)
        (configuration.roomLinkTimeout, configuration.roomHomeTimeout) = (ample, ample)
        configuration.timelineHomeTimeout = ample
        configuration.jobs?.startTimeout = ample
    }

    private static func run(
        _ configuration: PlatformConfiguration, _ logger: Logger, _ body: (TestPlatform) async throws -> Void
    ) async throws {
        let platform = Platform(configuration, logger: logger)
        let (listening, continuation) = AsyncStream<PlatformListening>.makeStream()
        let task = Task {
            defer { continuation.finish() }
            try await platform.run { continuation.yield($0) }
        }
        defer { task.cancel() }
        guard let place = await listening.first(where: { _ in true }) else { return try await task.value }
        do {
            try await body(
                TestPlatform(listening: place, platform: platform, configuration: configuration, task: task))
        } catch {
            task.cancel()
            _ = await task.result
            throw error
        }
        task.cancel()
        _ = await task.result
    }

    /// Creates the wrapper of a platform that a test started itself.
    init(
        listening: PlatformListening, platform: Platform, configuration: PlatformConfiguration,
        task: Task<Void, any Error>
    ) {
        self.listening = listening
        self.platform = platform
        self.configuration = configuration
        self.task = task
    }

    /// Stops the platform.
    func end() { task.cancel() }

    /// Waits until the platform has stopped.
    func isOver() async { _ = await task.result }

    /// The address on which it listens. It goes through this machine also if the platform listens on all addresses.
    var uri: String {
        let port = listening.uri.split(separator: ":").last ?? ""
        return listening.uri.contains("[") ? listening.uri : "http://127.0.0.1:\(port)"
    }

    // MARK: HTTP

    struct Response: Sendable {
        let status: Int
        let headers: HTTPHeaders
        let body: String

        func header(_ name: String) -> String? { headers.first(name: name) }
    }

    func send(
        _ method: String, _ path: String, _ headers: [String: String] = [:], body: String? = nil
    ) async throws -> Response {
        var request = HTTPClientRequest(url: path.hasPrefix("http") ? path : uri + path)
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body { request.body = .bytes(ByteBuffer(string: body)) }
        let response = try await HTTPClient.shared.execute(request, timeout: .minutes(10))
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return Response(status: Int(response.status.code), headers: response.headers, body: String(buffer: bytes))
    }

    /// Posts an offer to a WHIP or WHEP endpoint.
    func post(
        _ path: String, _ offer: String, token: String? = nil, headers: [String: String] = [:]
    ) async throws -> Response {
        var headers = headers
        headers["Content-Type"] = headers["Content-Type"] ?? "application/sdp"
        if let token { headers["Authorization"] = "Bearer \(token)" }
        return try await send("POST", path, headers, body: offer)
    }

    /// Sends a request as the first application's backend.
    func ask(_ method: String, _ path: String, _ body: String? = nil) async throws -> Response {
        let credentials = Base64.encode(Array("\(Self.application.id):\(Self.application.secret)".utf8))
        return try await send(method, path, ["Authorization": "Basic \(credentials)"], body: body)
    }

    /// Publishes by WHIP and returns the stream and the resource.
    func publish(token: String? = nil) async throws -> (stream: String, resource: String) {
        let answer = try await post("/whip", try Offers.publisher(), token: token)
        try #require(answer.status == 201)
        return (try #require(answer.header("PCast-Stream-Id")), try #require(answer.header("Location")))
    }

    // MARK: Metrics

    /// Returns the value of a metric of `/metrics`.
    func figure(_ name: String) async throws -> Int? {
        try await send("GET", "/metrics").body.split(separator: "\n")
            .first { $0.hasPrefix(name + " ") }?.split(separator: " ").last.flatMap { Int($0) }
    }

    /// Waits until a metric has a value. Returns false if it does not reach it.
    func reaches(_ name: String, _ value: Int) async throws -> Bool {
        try await eventually { try await figure(name) == value }
    }
}

/// Polls until the condition holds. Returns false after two minutes, which also a busy machine does not need.
nonisolated(nonsending) func eventually(
    _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws -> Bool {
    let end = MonotonicClock.now() + .seconds(120)
    while true {
        // The condition is evaluated once more after a delay beyond the end.
        let isLast = MonotonicClock.now() >= end
        if try await condition() { return true }
        if isLast { return false }
        // The condition ends the wait. This pause only prevents a busy loop.
        try await ContinuousClock().sleep(for: .milliseconds(5))
    }
}
