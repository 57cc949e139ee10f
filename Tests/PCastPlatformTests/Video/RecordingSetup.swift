import AsyncHTTPClient
import Foundation
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import PCastCore
import PCastDatabase
import PCastIO
import PCastRecording
import PCastSFU
import PCastWeb

@testable import PCastPlatform

/// A recording service with its database, in a temporary folder.
struct RecordingSetup: Sendable {
    let service: RecordingService
    let records: Records
    let writeQueue: DatabaseWriteQueue
    let folder: String

    static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Runs `body` with a service. It syncs only on request.
    static func run(
        _ change: (inout RecordingConfiguration) -> Void = { _ in }, _ body: (RecordingSetup) async throws -> Void
    ) async throws {
        var configuration = RecordingConfiguration()
        configuration.syncInterval = .seconds(60)
        configuration.reserve = 0
        change(&configuration)
        let settings = configuration
        try await withTemporaryDirectory { folder in
            let records = try Records.inMemory()
            let writeQueue = DatabaseWriteQueue(records, logger: logger, timeout: .seconds(600)) {}
            let writing = Task { await writeQueue.run() }
            let service = try RecordingService(
                settings, dataDirectory: folder, records: records, writeQueue: writeQueue, logger: logger)
            try await body(
                RecordingSetup(service: service, records: records, writeQueue: writeQueue, folder: folder))
            await service.stop()
            writeQueue.finish()
            await writing.value
        }
    }

    /// Returns another service of the same folder and database, as after a restart.
    func restarted() throws -> RecordingService {
        try RecordingService(
            service.configuration, dataDirectory: folder, records: records, writeQueue: writeQueue,
            logger: Self.logger)
    }

    /// Returns the stream of a `PackagedRun` with capabilities.
    static func stream(_ capabilities: [String] = ["on-demand"]) -> LiveStream {
        LiveStream(
            id: PackagedRun.id, peer: PeerID(1), application: TestPlatform.application.id, session: nil,
            tags: StreamTags(recorded: ["red"], publisher: Principal.localPublisher), capabilities: capabilities,
            startTime: MonotonicClock.wallTime(), address: nil, ordinal: 0, publisher: Principal.localPublisher)
    }

    /// Waits until everything that was recorded is on the disk and in the database.
    func flush() async {
        await service.store?.sync()
        await writeQueue.commit(.alive(at: MonotonicClock.wallTime(), [:]))
    }

    /// Records a stream with one layer of video and audio for a number of audio packets. Returns its run, which has ended.
    func record(_ packets: Int) async throws -> PackagedRun {
        let stream = Self.stream()
        writeQueue.note(.streamStarting(stream.record))
        guard await service.begin(stream, instance: "i1") else { throw RecordingSetupError.notRecorded }
        var run = try PackagedRun(layers: 1, recorder: service)
        _ = try run.send(packets)
        run.stream.finish(at: MonotonicClock.now())
        writeQueue.note(
            .streamEnded(stream.id, at: MonotonicClock.wallTime(), reason: "ended", counts: ViewerCounts()))
        service.finish(stream.id)
        await flush()
        return run
    }

    /// Runs `body` with a function that sends requests to the routes of recordings.
    func serve(
        _ body: (@Sendable (_ path: String, _ headers: [String: String]) async throws -> VideoServer.Response)
            async throws -> Void
    ) async throws {
        let authenticator = TokenAuthenticator(
            [TestPlatform.application, TestPlatform.otherApplication], allowsAnonymousLoopback: false)
        let routes = Router(context: WebRequestContext.self, options: .autoGenerateHeadEndpoints)
        routes.add(middleware: HeadRequestMiddleware())
        RecordingRoutes(
            recordings: service, records: records, authenticator: authenticator, limiter: RequestLimiter(),
            logger: Self.logger
        ).addRoutes(to: routes)
        let web = WebServer(
            binding: .init(host: "127.0.0.1", port: 0), direct: nil, router: routes, webSocketPath: "/none",
            logger: Self.logger
        ) { _ in }
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let serving = Task { try await web.run { continuation.yield($0) } }
        defer { serving.cancel() }
        guard let port = await ports.first(where: { _ in true }) else { return }
        try await body { path, headers in
            var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
            for (name, value) in headers { request.headers.add(name: name, value: value) }
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
            return VideoServer.Response(
                version: response.version, status: Int(response.status.code), headers: response.headers,
                body: try await response.body.collect(upTo: 1 << 24))
        }
    }
}

enum RecordingSetupError: Error {
    case notRecorded
}
