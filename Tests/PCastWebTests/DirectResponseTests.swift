import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization
import Testing

@testable import PCastWeb

/// Responses that are sent before the routes.
@Suite("Direct responses") struct DirectResponseTests {
    /// Responds to `/direct`, `/shared`, `/range` and `/large`, and to `/later` when the test says so.
    private final class Responder: DirectResponder {
        let later = LaterResponses()

        func recognizes(_ target: String) -> Bool {
            ["/direct", "/shared", "/range", "/large", "/later"].contains(target)
        }

        func answer(to request: DirectRequest) -> DirectAnswer {
            let head = DirectResponseHead(.ok, [.contentType: "text/plain"])
            switch request.target {
            case "/direct": return .response(DirectResponse(head, ByteBuffer(string: "direct")))
            case "/shared": return .response(DirectResponse(head, ByteBuffer(string: "shared")).rendered())
            case "/range":
                guard request.range == "bytes=1-2" else { return .routes }
                let part = DirectResponseHead(.partialContent, [:])
                return .response(
                    DirectResponse(part, range: ContentRange(1..<3, of: 9), ByteBuffer(string: "bc")))
            case "/large":
                let content = ByteBuffer(repeating: UInt8(ascii: "a"), count: DirectResponseTests.largeSize)
                return .response(DirectResponse(head, content))
            default: return .later(later.add())
            }
        }
    }

    /// The responses that a test releases.
    private final class LaterResponses: Sendable {
        private let responses = Mutex<[LaterResponse]>([])

        var count: Int { responses.withLock { $0.count } }
        var cancelledCount: Int { responses.withLock { $0.count { $0.isCancelled } } }

        func add() -> LaterResponse {
            let response = LaterResponse()
            responses.withLock { $0.append(response) }
            return response
        }

        /// Responds to all requests that wait. Returns the number of responses.
        func release() -> Int { responses.withLock { $0 }.count { $0.release() } }
    }

    private final class LaterResponse: DelayedResponse {
        private let resume = Mutex<(@Sendable () -> Void)?>(nil)
        private let cancelled = Atomic(false)

        var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

        func begin(on eventLoop: any EventLoop, _ respond: @escaping @Sendable (DirectResponse) -> Void) {
            resume.withLock { resume in
                resume = {
                    eventLoop.execute {
                        respond(DirectResponse(DirectResponseHead(.ok, [:]), ByteBuffer(string: "later")))
                    }
                }
            }
        }

        func cancel() { cancelled.store(true, ordering: .relaxed) }

        func release() -> Bool {
            let function = resume.withLock { resume in
                defer { resume = nil }
                return resume
            }
            function?()
            return function != nil
        }
    }

    /// The size of the content at `/large`, which is written in several pieces.
    private static let largeSize = 2 << 20

    /// Runs `body` with a connection to a server whose routes respond to `/slow` when `release` is called, and to other
    /// paths with `routed`.
    private static func run(
        _ body: (RawConnection, _ release: @Sendable () -> Void, LaterResponses) async throws -> Void
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
        router.get("/range") { _, _ in "routed" }
        router.get("/later") { _, _ in "routed" }
        let responder = Responder()
        let server = WebServer(
            binding: .init(host: "127.0.0.1", port: 0), direct: responder, router: router, webSocketPath: "/ws",
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { _ in }
        let (ports, continuation) = AsyncStream<Int>.makeStream()
        let task = Task { try await server.run { continuation.yield($0) } }
        defer { task.cancel() }
        let port = try #require(await ports.first { _ in true })
        let connection = RawConnection(port: port)
        try await body(connection, { release.yield() }, responder.later)
        try await connection.close()
    }

    private static func request(_ path: String, method: String = "GET", _ fields: String = "") -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
    }

    /// Returns the texts of the responses in their order.
    private static func bodies(_ text: String) -> [String] {
        ["direct", "shared", "routed", "slow", "posted", "later"].flatMap { word in
            text.ranges(of: "\r\n\r\n\(word)").map { ($0.lowerBound, word) }
        }.sorted { $0.0 < $1.0 }.map { $0.1 }
    }

    @Test("a request that the responder knows is answered by it, with length and date, and others by the routes")
    func responds() async throws {
        try await Self.run { connection, _, _ in
            try await connection.send(Self.request("/direct") + Self.request("/direct"))
            #expect(try await eventually { Self.bodies(connection.text) == ["direct", "direct"] })
            #expect(connection.text.contains("HTTP/1.1 200 OK\r\n"))
            let text = connection.text.lowercased()
            #expect(text.contains("content-length: 6\r\n") && text.contains(" gmt\r\n"))
            try await connection.send(Self.request("/direct", method: "POST", "Content-Length: 0\r\n"))
            #expect(try await eventually { Self.bodies(connection.text).last == "posted" })
        }
    }

    @Test("a response that was rendered for many connections has its length and date, and no content for HEAD")
    func rendered() async throws {
        try await Self.run { connection, _, _ in
            try await connection.send(Self.request("/shared", method: "HEAD") + Self.request("/shared"))
            #expect(try await eventually { Self.bodies(connection.text) == ["shared"] })
            try await connection.send(Self.request("/shared") + Self.request("/direct"))
            #expect(try await eventually { Self.bodies(connection.text) == ["shared", "shared", "direct"] })
            let text = connection.text.lowercased()
            #expect(text.ranges(of: "content-length: 6\r\n").count == 4 && text.ranges(of: " gmt\r\n").count == 4)
        }
    }

    @Test("a large response is not rendered as a whole")
    func largeRendering() {
        let content = ByteBuffer(repeating: UInt8(ascii: "a"), count: Self.largeSize)
        let response = DirectResponse(DirectResponseHead(.ok, [:]), content).rendered()
        #expect(response.complete == nil && response.body == content)
    }

    @Test("responses keep the order of pipelined requests")
    func order() async throws {
        try await Self.run { connection, release, _ in
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

    @Test("the connection closes after the last request of a client, to which the routes respond")
    func close() async throws {
        try await Self.run { connection, _, _ in
            try await connection.send(Self.request("/direct", "Connection: close\r\n"))
            #expect(try await eventually { connection.isClosed })
            #expect(Self.bodies(connection.text) == ["routed"])
        }
    }

    @Test("large responses arrive completely and in order, also if their requests arrive together")
    func large() async throws {
        try await Self.run { connection, _, _ in
            try await connection.send(Self.request("/large") + Self.request("/direct") + Self.request("/large"))
            let size = 2 * Self.largeSize
            #expect(try await eventually { connection.received.count { $0 == UInt8(ascii: "a") } >= size })
            #expect(try await eventually { connection.text.ranges(of: "HTTP/1.1 200 OK").count == 3 })
            #expect(Self.bodies(connection.text) == ["direct"])
        }
    }

    @Test("a response to HEAD has the length of the content, and a part of a file its range")
    func headAndRange() async throws {
        try await Self.run { connection, _, _ in
            try await connection.send(
                Self.request("/large", method: "HEAD") + Self.request("/range", "Range: bytes=1-2\r\n"))
            #expect(try await eventually { connection.text.hasSuffix("\r\n\r\nbc") })
            #expect(connection.text.contains("Content-Length: \(Self.largeSize)\r\n"))
            #expect(connection.text.contains("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 1-2/9\r\n"))
            #expect(connection.received.count < 1_000)
        }
    }

    @Test(
        "the routes respond to requests with content, several hosts or ranges, or options of the connection",
        arguments: [
            "Content-Length: 1\r\n\r\nx", "Transfer-Encoding: chunked\r\n\r\n0\r\n", "Host: b\r\n",
            "Range: bytes=1-2\r\nrange: bytes=2-3\r\n", "Expect: 100-continue\r\n", "Connection: x, keep-alive\r\n",
        ])
    func others(fields: String) async throws {
        try await Self.run { connection, _, _ in
            let text = Self.request("/direct", fields)
            // The content is not followed by the end of a line.
            try await connection.send(fields.hasSuffix("x") ? String(text.dropLast()) : text)
            #expect(
                try await eventually {
                    let text = connection.text
                    return text.contains("\r\n\r\nrouted") || text.contains(" 400 ")
                })
            #expect(!connection.text.contains("\r\n\r\ndirect"))
        }
    }

    @Test("later requests are held while a response is awaited, and answered in order")
    func later() async throws {
        try await Self.run { connection, _, later in
            try await connection.send(
                Self.request("/later") + Self.request("/direct") + Self.request("/later")
                    + Self.request("/direct", "Connection: close\r\n"))
            #expect(try await eventually { later.count == 1 })
            #expect(connection.received.isEmpty)
            #expect(try await eventually { later.release() == 1 })
            #expect(try await eventually { later.count == 2 && Self.bodies(connection.text) == ["later", "direct"] })
            #expect(try await eventually { later.release() == 1 })
            #expect(try await eventually { connection.isClosed })
            #expect(Self.bodies(connection.text) == ["later", "direct", "later", "routed"])
        }
    }

    @Test("a client that sends nothing more receives the response that it waits for")
    func halfClosure() async throws {
        try await Self.run { connection, _, later in
            try await connection.send(Self.request("/later"))
            #expect(try await eventually { later.count == 1 })
            try await connection.closeOutput()
            // The end arrives after the request, so the response would be too late if it closed the connection.
            #expect(try await eventually { later.release() == 1 })
            #expect(try await eventually { connection.isClosed })
            #expect(Self.bodies(connection.text) == ["later"])
        }
    }

    @Test("an invalid request is answered after the one that waits")
    func invalid() async throws {
        try await Self.run { connection, _, later in
            try await connection.send(Self.request("/later") + "nonsense\r\n\r\n")
            #expect(try await eventually { later.count == 1 })
            #expect(connection.received.isEmpty)
            #expect(try await eventually { later.release() == 1 })
            #expect(try await eventually { connection.text.contains(" 400 ") })
            #expect(Self.bodies(connection.text).first == "later")
        }
    }

    @Test("a client that sends very many requests while one waits, and ends, is disconnected")
    func flood() async throws {
        try await Self.run { connection, _, later in
            try await connection.send(Self.request("/later") + String(repeating: Self.request("/direct"), count: 2_000))
            #expect(try await eventually { later.count == 1 })
            // Nothing more is read while requests are held, until the client ends its direction.
            try await connection.closeOutput()
            #expect(try await eventually { connection.isClosed && later.cancelledCount == 1 })
            #expect(later.count == 1 && connection.received.isEmpty)
        }
    }

    @Test("dates have the format of HTTP")
    func dates() {
        #expect(HTTPDate.text(secondsSinceEpoch: 784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.text(secondsSinceEpoch: 0) == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(HTTPDate.text(secondsSinceEpoch: 1_709_164_799) == "Wed, 28 Feb 2024 23:59:59 GMT")
    }
}
