import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Testing

@testable import PCastWeb

/// Responses that are sent before the routes.
@Suite("Direct responses") struct DirectResponseTests {
    /// Responds to `/direct` and `/large`.
    private struct Responder: DirectResponder {
        func response(to request: HTTPRequest) -> DirectResponse? {
            switch request.path {
            case "/direct": DirectResponse(.ok, [.contentType: "text/plain"], ByteBuffer(string: "direct"))
            case "/large":
                DirectResponse(.ok, [:], ByteBuffer(repeating: UInt8(ascii: "a"), count: 100_000))
            default: nil
            }
        }
    }

    /// Runs `body` with a connection to a server whose routes respond to `/slow` when `release` is called, and to other
    /// paths with `routed`.
    private static func run(
        _ body: (RawConnection, _ release: @Sendable () -> Void) async throws -> Void
    ) async throws {
        let (releases, release) = AsyncStream<Void>.makeStream()
        let router = Router(context: WebRequestContext.self)
        router.get("/slow") { _, _ in
            for await _ in releases { break }
            return "slow"
        }
        router.get("/direct") { _, _ in "routed" }
        router.get("/large") { _, _ in "routed" }
        router.post("/direct") { _, _ in "posted" }
        let server = WebServer(
            binding: .init(host: "127.0.0.1", port: 0), direct: Responder(), router: router, webSocketPath: "/ws",
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { _ in }
        let (ports, continuation) = AsyncStream<Int>.makeStream()
        let task = Task { try await server.run { continuation.yield($0) } }
        defer { task.cancel() }
        let port = try #require(await ports.first { _ in true })
        let connection = RawConnection(port: port)
        try await body(connection) { release.yield() }
        try await connection.close()
    }

    private static func request(_ path: String, method: String = "GET", _ fields: String = "") -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
    }

    /// Returns the texts of the responses in their order.
    private static func bodies(_ text: String) -> [String] {
        ["direct", "routed", "slow", "posted"].flatMap { word in
            text.ranges(of: "\r\n\r\n\(word)").map { ($0.lowerBound, word) }
        }.sorted { $0.0 < $1.0 }.map { $0.1 }
    }

    @Test("a request that the responder knows is answered by it, with length and date, and others by the routes")
    func responds() async throws {
        try await Self.run { connection, _ in
            try await connection.send(Self.request("/direct") + Self.request("/direct"))
            #expect(try await eventually { Self.bodies(connection.text) == ["direct", "direct"] })
            #expect(connection.text.contains("HTTP/1.1 200 OK\r\n"))
            let text = connection.text.lowercased()
            #expect(text.contains("content-length: 6\r\n") && text.contains(" gmt\r\n"))
            try await connection.send(Self.request("/direct", method: "POST", "Content-Length: 0\r\n"))
            #expect(try await eventually { Self.bodies(connection.text).last == "posted" })
        }
    }

    @Test("responses keep the order of pipelined requests")
    func order() async throws {
        try await Self.run { connection, release in
            try await connection.send(Self.request("/slow") + Self.request("/direct"))
            // The routes respond to the second request, too, because the first is not answered.
            try await connection.send(Self.request("/direct"))
            release()
            #expect(try await eventually { Self.bodies(connection.text).count == 3 })
            #expect(Self.bodies(connection.text).prefix(2) == ["slow", "routed"])
            try await connection.send(Self.request("/direct"))
            #expect(try await eventually { Self.bodies(connection.text).last == "direct" })
        }
    }

    @Test("the connection closes after the last request of a client, also with a direct response")
    func close() async throws {
        try await Self.run { connection, _ in
            try await connection.send(Self.request("/direct", "Connection: close\r\n"))
            #expect(try await eventually { connection.isClosed })
            #expect(Self.bodies(connection.text) == ["direct"])
        }
    }

    @Test("large responses arrive completely")
    func large() async throws {
        try await Self.run { connection, _ in
            try await connection.send(String(repeating: Self.request("/large"), count: 3))
            // The routes may respond to later requests while the client has not read the first response.
            #expect(try await eventually { connection.text.lowercased().ranges(of: "http/1.1 200 ok").count == 3 })
            #expect(try await eventually { connection.received.count { $0 == UInt8(ascii: "a") } >= 100_000 })
        }
    }

    @Test("dates have the format of HTTP")
    func dates() {
        #expect(HTTPDate.text(secondsSinceEpoch: 784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.text(secondsSinceEpoch: 0) == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(HTTPDate.text(secondsSinceEpoch: 1_709_164_799) == "Wed, 28 Feb 2024 23:59:59 GMT")
    }
}
