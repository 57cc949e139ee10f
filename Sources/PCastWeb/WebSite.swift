import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// A small site: documents by their path, and WebSockets below one path. For who has no use for a whole router.
public struct WebSite: Sendable {
    /// What is asked for.
    public struct Request: Sendable {
        public let method: String
        /// Beginning with `/`, as it came.
        public let path: String
        /// `Host`, as the client wrote it.
        public let host: String?
        /// The page that asks; nil where none does.
        public let origin: String?
        public let authorization: String?
        /// At most ``bodyLimit`` bytes; nil where more came.
        public let body: [UInt8]?

        public static let bodyLimit = 16 * 1_024
    }

    /// What is answered.
    public struct Answer: Sendable {
        public var status: Int
        /// Of the body; nil for none.
        public var type: String?
        public var headers: [String: String]
        public var body: [UInt8]

        public init(_ status: Int = 200, type: String? = nil, headers: [String: String] = [:], body: [UInt8] = []) {
            (self.status, self.type, self.headers, self.body) = (status, type, headers, body)
        }

        /// A sentence for people.
        public static func text(_ status: Int, _ text: String) -> Answer {
            Answer(status, type: "text/plain; charset=utf-8", body: Array(text.utf8))
        }
    }

    private let server: WebServer

    /// - Parameters:
    ///   - webSocketPath: where a WebSocket may be opened; one that ends in `/` stands for everything below it.
    ///   - label: of its log.
    ///   - answer: is asked for every document.
    ///   - webSocket: runs as long as its connection; returning closes it.
    public init(
        binding: WebServer.Binding, webSocketPath: String, label: String,
        answer: @escaping @Sendable (Request) async -> Answer,
        webSocket: @escaping @Sendable (WebSocketConnection) async throws -> Void
    ) {
        let router = Router(context: WebRequestContext.self)
        router.add(middleware: WholeSite(answer: answer))
        server = WebServer(
            binding: binding, router: router, webSocketPath: webSocketPath,
            opensWebSocket: { webSocketPath.hasSuffix("/") && $0.hasPrefix(webSocketPath) },
            logger: Logger(label: label), webSocket: webSocket)
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameter onListening: called once with the port that is open.
    /// - Throws: `WebError.addressInUse`.
    public func run(onListening: @escaping @Sendable (Int) async -> Void) async throws {
        try await server.run(onListening: onListening)
    }
}

/// Answers for all paths.
private struct WholeSite: RouterMiddleware {
    let answer: @Sendable (WebSite.Request) async -> WebSite.Answer

    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        let body = try? await request.body.collect(upTo: WebSite.Request.bodyLimit)
        let answer = await answer(
            WebSite.Request(
                method: request.method.rawValue, path: request.uri.path, host: request.head.authority,
                origin: request.headers[.origin], authorization: request.headers[.authorization],
                body: body.map { Array($0.readableBytesView) }))
        var headers: HTTPFields = [.xContentTypeOptions: "nosniff", .cacheControl: "no-cache"]
        if let type = answer.type { headers[.contentType] = type }
        for (name, value) in answer.headers {
            if let name = HTTPField.Name(name) { headers[name] = value }
        }
        let bytes = request.method == .head ? [] : answer.body
        return Response(
            status: .init(code: answer.status), headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
