import Hummingbird
import Logging
import NIOCore
import PCastCore
import PCastWeb
import Testing

/// A web server on a free port. The test defines its WebSocket at `/ws`; `/hello` answers with a word, and `/moved`
/// redirects to it. `/authorization` answers with that field, and `/moved-to/PORT` redirects to it at a port.
struct TestServer: Sendable {
    let port: Int

    var uri: String { "http://127.0.0.1:\(port)" }

    /// Runs `body` with a server that has stopped when this returns.
    static func run(
        gate: (any ConnectionFilter)? = nil, firstRequestTimeout: TimeSpan = .seconds(600),
        webSocket: @escaping @Sendable (WebSocketConnection) async throws -> Void = echo,
        _ body: (TestServer) async throws -> Void
    ) async throws {
        let router = Router(context: WebRequestContext.self)
        router.get("/hello") { _, _ in "hello" }
        router.post("/length") { request, _ in
            "\(try await request.body.collect(upTo: 1024).readableBytes)"
        }
        router.get("/moved") { _, _ in Response(status: .found, headers: [.location: "/hello"]) }
        router.get("/authorization") { request, _ in request.headers[.authorization] ?? "none" }
        router.get("/moved-to/:port") { _, context in
            let port = context.parameters.get("port") ?? ""
            return Response(status: .found, headers: [.location: "http://127.0.0.1:\(port)/authorization"])
        }
        router.post("/refused") { _, _ in Response(status: .forbidden) }
        router.get("/stream") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(string: "one "))
                    try await writer.write(ByteBuffer(string: "two"))
                    try await writer.finish(nil)
                })
        }
        router.get("/stalled") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody(contentLength: 10) { writer in
                    try await writer.write(ByteBuffer(string: "one "))
                    // The end of the server cancels this.
                    try await ContinuousClock().sleep(for: .seconds(3_600))
                })
        }
        router.get("/large") { _, _ in
            let content = ByteBuffer(repeating: UInt8(ascii: "a"), count: 200_000)
            return Response(status: .ok, body: ResponseBody(inPieces: content))
        }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let server = WebServer(
            binding: .init(host: "127.0.0.1", port: 0), gate: gate, firstRequestTimeout: firstRequestTimeout,
            router: router, webSocketPath: "/ws", logger: logger, webSocket: webSocket)
        let (ports, continuation) = AsyncStream<Int>.makeStream()
        let task = Task { try await server.run { continuation.yield($0) } }
        let port = try #require(await ports.first { _ in true })
        do {
            try await body(TestServer(port: port))
        } catch {
            task.cancel()
            throw error
        }
        task.cancel()
        _ = await task.result
    }

    /// Sends received messages back.
    static let echo: @Sendable (WebSocketConnection) async throws -> Void = { connection in
        try await connection.forEachMessage { try await connection.send($0) }
    }
}

/// Polls until the condition holds. Returns false after two minutes, which also a busy machine does not need.
nonisolated(nonsending) func eventually(
    _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws -> Bool {
    let end = ContinuousClock.now + .seconds(120)
    while true {
        // The condition is evaluated once more after a delay beyond the end.
        let isLast = ContinuousClock.now >= end
        if try await condition() { return true }
        if isLast { return false }
        // The condition ends the wait. This pause only prevents a busy loop.
        try await ContinuousClock().sleep(for: .milliseconds(5))
    }
}
