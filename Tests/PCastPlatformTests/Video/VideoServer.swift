import AsyncHTTPClient
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastSFU
import PCastWeb
import PCastWebRTC

@testable import PCastPlatform

/// A web server with the routes of HLS, and a stream that a test feeds with units.
struct VideoServer: Sendable {
    struct Response: Sendable {
        let version: HTTPVersion
        let status: Int
        let headers: HTTPHeaders
        let body: ByteBuffer

        var text: String { String(buffer: body) }
        func header(_ name: String) -> String? { headers.first(name: name) }
    }

    let stream: PackagedStream
    let directory: StreamDirectory
    /// The path of the stream.
    let path: String
    private let port: Int
    /// Unlike the shared client, it does not request and decode gzip itself.
    private let client: HTTPClient
    private let scheme: String

    /// A stream whose publisher has not sent a packet yet, and one that is not packaged.
    static let silent = StreamID("stream-silent")
    static let unpackaged = StreamID("stream-plain")

    /// Runs `body` with a server that serves the stream of a run. `isDirect` is whether it responds before the routes, as
    /// a platform does. `isSecure` is whether it uses TLS, and the client then HTTP/2.
    static func run(
        _ run: PackagedRun, isDirect: Bool = true, isSecure: Bool = false, thumbnails: ThumbnailConfiguration? = nil,
        _ body: (VideoServer) async throws -> Void
    ) async throws {
        let media = try mediaRouter()
        defer { media.stop() }
        let platform = try await components(media, HLSConfiguration())
        let streams: [(StreamID, [String])] = [
            (PackagedRun.id, ["streaming"]), (silent, ["streaming"]), (unpackaged, []),
        ]
        for (id, capabilities) in streams {
            let peer = await platform.directory.enter(id, capabilities, try platform.reserve())
            guard id == PackagedRun.id else { continue }
            _ = platform.packaging.reserve(id, for: peer)
            _ = platform.packaging.add(run.stream, of: peer)
        }
        let routes = Router(context: WebRequestContext.self, options: .autoGenerateHeadEndpoints)
        routes.add(middleware: HeadRequestMiddleware())
        routes.add(middleware: CrossOriginMiddleware())
        routes.add(middleware: RequestLimitMiddleware(limiter: platform.limiter, logger: logger))
        let video = VideoRoutes(
            packaging: platform.packaging, directory: platform.directory, authenticator: platform.authenticator,
            limiter: platform.limiter, logger: logger,
            thumbnails: ThumbnailService(thumbnails, timeout: .seconds(600)))
        video.addRoutes(to: routes)
        var security: WebServer.Security?
        if isSecure { security = try Self.security() }
        let web = WebServer(
            binding: .init(host: "127.0.0.1", port: 0), security: security, direct: isDirect ? video : nil,
            router: routes,
            webSocketPath: "/none", logger: logger
        ) { _ in }
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let serving = Task { try await web.run { continuation.yield($0) } }
        defer { serving.cancel() }
        guard let port = await ports.first(where: { _ in true }) else { return }
        var configuration = HTTPClient.Configuration()
        configuration.tlsConfiguration = .makeClientConfiguration()
        configuration.tlsConfiguration?.certificateVerification = .none
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let server = VideoServer(
            stream: run.stream, directory: platform.directory, path: "/video/\(PackagedRun.id)", port: port,
            client: client, scheme: isSecure ? "https" : "http")
        do {
            try await body(server)
        } catch {
            try await client.shutdown()
            throw error
        }
        try await client.shutdown()
    }

    private static func security() throws -> WebServer.Security {
        let made = try SelfSignedCertificate.generate(at: MonotonicClock.wallTime())
        return WebServer.Security(
            TLSCertificate(try TLSIdentity(certificateDER: made.certificate, keyDER: made.key)))
    }

    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Returns a router on a free port, which must be stopped.
    static func mediaRouter() throws -> MediaRouter {
        try MediaRouter(
            listen: [TransportAddress(ip: .loopbackV4, port: 0)],
            addresses: AdvertisedAddresses(named: [.loopbackV4], discovered: [], listen: .loopbackV4),
            certificate: .generate(at: MonotonicClock.wallTime()), maximumPeers: 10, shards: 1)
    }

    /// The parts of a platform that the routes of HLS use.
    struct Components: Sendable {
        let directory: StreamDirectory
        let packaging: PackagingService
        let authenticator: TokenAuthenticator
        let limiter: RequestLimiter

        /// Returns a reservation for a publisher without a client.
        func reserve() throws -> QuotaReservation {
            try limiter.reserve(.preview, of: TestPlatform.application.id, from: nil)
        }
    }

    /// Returns the parts of a platform without streams.
    static func components(_ media: MediaRouter, _ configuration: HLSConfiguration) async throws -> Components {
        let authenticator = TokenAuthenticator(
            [TestPlatform.application, TestPlatform.otherApplication], allowsAnonymousLoopback: false)
        let statistics = PlatformStatistics()
        let records = try await PlatformRecords.open(StorageConfiguration(), [], statistics, logger)
        let packaging = PackagingService(
            router: media, configuration: configuration, writeQueue: records.writeQueue, logger: logger)
        let limiter = RequestLimiter()
        let directory = StreamDirectory(
            router: media, authenticator: authenticator, writeQueue: records.writeQueue, limiter: limiter,
            statistics: statistics, packaging: packaging, logger: logger)
        return Components(
            directory: directory, packaging: packaging, authenticator: authenticator, limiter: limiter)
    }

    func send(_ path: String, _ headers: [String: String] = [:], method: String = "GET") async throws -> Response {
        var request = HTTPClientRequest(url: "\(scheme)://127.0.0.1:\(port)\(path)")
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        let response = try await client.execute(request, timeout: .seconds(60))
        return Response(
            version: response.version, status: Int(response.status.code), headers: response.headers,
            body: try await response.body.collect(upTo: 1 << 24))
    }

    /// The path of everything that is signed.
    var signedPath: String { "\(path)/\(stream.signature(at: MonotonicClock.wallTime()))" }

    /// Returns a token of a viewer of one stream.
    static func token(of stream: StreamID = PackagedRun.id) throws -> String {
        try Tokens.make { $0.forStreamingOnly().forOriginStream(stream.description) }
    }
}

extension StreamDirectory {
    /// Adds a stream without a media connection. Returns its publisher.
    func enter(_ id: StreamID, _ capabilities: [String], _ reservation: QuotaReservation) -> PeerID {
        let peer = registry.enter(
            id, reservation, origin: id, isPublisher: true, at: MonotonicClock.now(), onEnd: { _ in },
            onQuality: { _, _ in })
        registry.add(
            LiveStream(
                id: id, peer: peer, application: TestPlatform.application.id, session: nil,
                tags: StreamTags(recorded: [], publisher: nil), capabilities: capabilities,
                startTime: MonotonicClock.wallTime(), address: nil, ordinal: registry.takeOrdinal(), publisher: nil))
        return peer
    }
}
