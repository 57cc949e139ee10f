import HTTPTypes
package import Hummingbird
import Logging
package import NIOCore
package import PCastCore

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
            logger: Self.logger(label), webSocket: webSocket)
    }

    /// Returns the logger of a site. The application reports the address itself, so the server's message that it has
    /// started (info) is omitted.
    private static func logger(_ label: String) -> Logger {
        var logger = Logger(label: label)
        logger.logLevel = max(logger.logLevel, .notice)
        return logger
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
            body: ResponseBody(inPieces: ByteBuffer(bytes: bytes)))
    }
}

extension String {
    /// The text on one line without terminal control sequences. Control characters (Unicode C0 and C1), line and
    /// paragraph separators, and bidirectional controls are escaped, such as `\n` or `\u{1B}`.
    public var escapingControlCharacters: String { escapingControlCharacters(keeping: []) }

    /// Returns the text with control characters escaped, except those in `kept`.
    public func escapingControlCharacters(keeping kept: Set<Unicode.Scalar>) -> String {
        guard unicodeScalars.contains(where: { Self.isControl($0) && !kept.contains($0) }) else { return self }
        var text = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            guard Self.isControl(scalar), !kept.contains(scalar) else {
                text.append(scalar)
                continue
            }
            let escape =
                switch scalar {
                case "\n": "\\n"
                case "\r": "\\r"
                case "\t": "\\t"
                default: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
                }
            text.append(contentsOf: escape.unicodeScalars)
        }
        return String(text)
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension ResponseBody {
    /// The size of the pieces in which a large body is written, in bytes.
    package static let pieceSize = 64 << 10

    /// Creates a body that is written in pieces, each after the client has read enough of the previous ones. A body in
    /// one buffer would be encrypted at once, also for a client that reads nothing.
    package init(inPieces buffer: ByteBuffer) {
        guard buffer.readableBytes > Self.pieceSize else {
            self.init(byteBuffer: buffer)
            return
        }
        self.init(contentLength: buffer.readableBytes) { writer in
            var rest = buffer
            while rest.readableBytes > 0, let piece = rest.readSlice(length: min(rest.readableBytes, Self.pieceSize)) {
                try await writer.write(piece)
            }
            try await writer.finish(nil)
        }
    }
}

/// The context of a request: the client and the connection.
package struct WebRequestContext: RequestContext, RemoteAddressRequestContext {
    /// The context of Hummingbird.
    package var coreContext: CoreRequestContextStorage
    /// The remote address of the connection; nil if it is closed.
    package let remoteAddress: SocketAddress?
    /// The address of the client. It is the address that a trusted proxy reports, otherwise that of the connection. Nil
    /// if the connection is closed.
    package var clientAddress: IPAddress?
    /// Whether an untrusted proxy forwarded the request, so that the client is unknown.
    package var isHiddenByProxy = false
    /// Whether the client uses TLS according to a trusted proxy.
    package var isSecureByProxy = false
    /// The port of this server that received the connection.
    package let localPort: Int?
    /// The connection of the client.
    let channel: any Channel

    /// Creates the context of a connection.
    package init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        remoteAddress = source.channel.remoteAddress
        clientAddress = TransportAddress(source.channel.remoteAddress)?.ip
        channel = source.channel
        localPort = source.channel.localAddress?.port
    }

    /// The maximum size of a request's content in bytes. Offers, trickle ICE fragments and JSON requests are small.
    package var maxUploadSize: Int { 256 * 1024 }
}
