import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// A small web site with documents and WebSockets below one path, for programs that need no router.
package struct WebSite: Sendable {
    /// A request for a document.
    package struct Request: Sendable {
        /// The HTTP method.
        package let method: String
        /// The path as received, beginning with `/`.
        package let path: String
        /// The `Host` field as received; nil if absent.
        package let host: String?
        /// The origin of the page that sends the request (`Origin` field); nil if absent.
        package let origin: String?
        /// The `Authorization` field; nil if absent.
        package let authorization: String?
        /// The content of at most ``bodyLimit`` bytes; nil if it is larger.
        package let body: [UInt8]?

        /// The maximum size of the content in bytes.
        package static let bodyLimit = 16 * 1_024
    }

    /// A response.
    package struct SiteResponse: Sendable {
        /// The HTTP status.
        package var status: Int
        /// The media type of the content; nil if there is none.
        package var type: String?
        /// The additional header fields.
        package var headers: [String: String]
        /// The content.
        package var body: [UInt8]

        /// Creates a response.
        package init(_ status: Int = 200, type: String? = nil, headers: [String: String] = [:], body: [UInt8] = []) {
            (self.status, self.type, self.headers, self.body) = (status, type, headers, body)
        }

        /// Returns a response with plain text.
        package static func text(_ status: Int, _ text: String) -> SiteResponse {
            SiteResponse(status, type: "text/plain; charset=utf-8", body: Array(text.utf8))
        }
    }

    private let server: WebServer

    /// Creates a site, which does not listen before ``run(onListening:)``.
    ///
    /// If `webSocketPath` ends in `/`, WebSockets may be opened at all paths below it. `label` is the label of the log.
    /// `answer` responds to all requests for documents. `webSocket` runs for the duration of a connection, which is
    /// closed when it returns.
    package init(
        binding: WebServer.Binding, webSocketPath: String, label: String,
        answer: @escaping @Sendable (Request) async -> SiteResponse,
        webSocket: @escaping @Sendable (WebSocketConnection) async throws -> Void
    ) {
        let router = Router(context: WebRequestContext.self)
        router.add(middleware: WholeSite(answer: answer))
        server = WebServer(
            binding: binding, router: router, webSocketPath: webSocketPath,
            opensWebSocket: { webSocketPath.hasSuffix("/") && $0.hasPrefix(webSocketPath) },
            logger: Logger(label: label), webSocket: webSocket)
    }

    /// Serves until the task is cancelled. `onListening` is called once with the port.
    ///
    /// - Throws: ``WebError/addressInUse(host:port:)``, or an error of the socket.
    package func run(onListening: @escaping @Sendable (Int) async -> Void) async throws {
        try await server.run(onListening: onListening)
    }
}

/// Responds at all paths.
private struct WholeSite: RouterMiddleware {
    let answer: @Sendable (WebSite.Request) async -> WebSite.SiteResponse

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
