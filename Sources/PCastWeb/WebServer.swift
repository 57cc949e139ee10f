import Glibc
import HTTPTypes
package import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
package import Logging
import NIOCore
import NIOHTTPTypes
import NIOPosix
import NIOSSL
package import PCastCore
import ServiceLifecycle

/// A web server with HTTP routes and one path that opens WebSockets.
package struct WebServer: Sendable {
    /// The address to listen on.
    package struct Binding: Sendable {
        /// The host name or IP address.
        package var host: String
        /// The port; 0 selects a free one.
        package var port: Int

        /// Creates an address.
        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }
    }

    /// The TLS certificate, and the server of connections inside TLS that carry another protocol than HTTP.
    package struct Security: Sendable {
        /// The certificate of the server.
        package var certificate: TLSCertificate
        /// The server of other protocols; nil for none.
        package var tunnels: TunnelServer?

        /// Creates a configuration for TLS.
        package init(_ certificate: TLSCertificate, tunnels: TunnelServer? = nil) {
            self.certificate = certificate
            self.tunnels = tunnels
        }
    }

    private let binding: Binding
    private let security: Security?
    private let gate: (any ConnectionFilter)?
    private let direct: (any DirectResponder)?
    private let firstRequestTimeout: TimeAmount
    private let responder: ExpectationResponder<RouterResponder<WebRequestContext>>
    private let webSocketPath: String
    private let opensWebSocket: @Sendable (String) -> Bool
    private let webSocket: @Sendable (WebSocketConnection) async throws -> Void
    private let logger: Logger

    /// Creates a server, which does not listen before ``run(onListening:)``.
    ///
    /// Without `security` the server does not use TLS, and without `gate` it accepts all connections. `direct` responds
    /// before the routes of `router`, whose middleware then is not called. A connection is closed if the head of its
    /// first request has not arrived within `firstRequestTimeout`. `webSocketPath`, such as `/ws`, opens WebSockets, and
    /// so do other paths for which `opensWebSocket` returns true;
    /// ``WebSocketConnection/Request/uri`` contains the actual path. `webSocket` runs for the duration of a connection,
    /// which is closed when it returns.
    package init(
        binding: Binding, security: Security? = nil, gate: (any ConnectionFilter)? = nil,
        direct: (any DirectResponder)? = nil,
        firstRequestTimeout: TimeSpan = .seconds(10),
        router: Router<WebRequestContext>, webSocketPath: String,
        opensWebSocket: @escaping @Sendable (String) -> Bool = { _ in false }, logger: Logger,
        webSocket: @escaping @Sendable (WebSocketConnection) async throws -> Void
    ) {
        self.binding = binding
        self.security = security
        self.gate = gate
        self.direct = direct
        self.firstRequestTimeout = .nanoseconds(firstRequestTimeout.nanoseconds)
        responder = ExpectationResponder(next: router.buildResponder())
        self.webSocketPath = webSocketPath
        self.opensWebSocket = opensWebSocket
        self.webSocket = webSocket
        self.logger = logger
    }

    /// The time that connections have to end when the server stops.
    private static let timeout = Duration.seconds(2)

    /// Serves until the task is cancelled. Then pending requests are completed and WebSockets send a close frame.
    /// `onListening` is called once with the port.
    ///
    /// - Throws: ``WebError/addressInUse(host:port:)``, or an error of the socket.
    package func run(onListening: @escaping @Sendable (Int) async -> Void) async throws {
        let service = security.map { secure($0, onListening) } ?? plain(onListening)
        var configuration = ServiceGroupConfiguration(
            services: [service], gracefulShutdownSignals: [], logger: logger)
        configuration.maximumGracefulShutdownDuration = Self.timeout
        let group = ServiceGroup(configuration: configuration)
        // The service runs in its own task, because cancellation of this one would close its connections at once.
        let serving = Task { try await group.run() }
        do {
            try await withTaskCancellationHandler {
                try await serving.value
            } onCancel: {
                Task { await group.triggerGracefulShutdown() }
            }
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw WebError.addressInUse(host: binding.host, port: binding.port)
        }
    }

    private func plain(_ onListening: @escaping @Sendable (Int) async -> Void) -> any Service {
        let (path, isOpen, handler, gate, direct) = (webSocketPath, opensWebSocket, webSocket, gate, direct)
        let timeout = firstRequestTimeout
        return application(
            HTTPServerBuilder { responder in
                WebSocketUpgradableChannel(
                    http: HTTP1Channel(responder: responder), path: path, isOpen: isOpen, gate: gate, direct: direct,
                    firstRequestTimeout: timeout, handler: handler)
            }, onListening)
    }

    private func secure(
        _ security: Security, _ onListening: @escaping @Sendable (Int) async -> Void
    ) -> any Service {
        let (path, isOpen, handler, gate, direct) = (webSocketPath, opensWebSocket, webSocket, gate, direct)
        let timeout = firstRequestTimeout
        return application(
            HTTPServerBuilder { responder in
                SecureChannel(
                    web: WebSocketUpgradableChannel(
                        http: HTTP1Channel(responder: responder), path: path, isOpen: isOpen, gate: gate,
                        direct: direct, firstRequestTimeout: timeout, handler: handler),
                    http2: .web(responder, direct), certificate: security.certificate, tunnels: security.tunnels)
            }, onListening)
    }

    private func application(
        _ server: HTTPServerBuilder, _ onListening: @escaping @Sendable (Int) async -> Void
    ) -> any Service {
        Application(
            responder: responder, server: server,
            configuration: .init(
                address: .hostname(binding.host, port: binding.port), serverName: nil, reuseAddress: true),
            onServerRunning: { channel in
                // Adding fails only if the channel has closed meanwhile.
                try? await channel.eventLoop.submit {
                    try channel.pipeline.syncOperations.addHandler(DescriptorReserveHandler(), position: .first)
                }.get()
                await onListening(channel.localAddress?.port ?? 0)
            },
            eventLoopGroupProvider: .singleton,
            logger: logger)
    }
}

/// A gate that rejects connections before any byte is read, and is notified when accepted connections end.
package protocol ConnectionFilter: Sendable {
    /// Returns whether a connection is accepted. It is called on an event loop for each connection. A rejected one is
    /// closed at once.
    func admits(_ address: IPAddress?) -> Bool

    /// Notifies the gate, once for each accepted connection, that it does not wait for its first request any more: the
    /// head of the request has arrived, the connection uses another protocol, or it was closed before.
    func stoppedWaiting(_ address: IPAddress?)

    /// Notifies the gate that an accepted connection was closed.
    func closed(_ address: IPAddress?)
}

/// Responds to `Expect: 100-continue` (RFC 9110, section 10.1.1). It sends `100 Continue` when a handler reads the
/// content, otherwise only the final response. Other expectations fail with status 417.
struct ExpectationResponder<Next: HTTPResponder<WebRequestContext>>: HTTPResponder {
    let next: Next

    func respond(to request: Request, context: WebRequestContext) async throws -> Response {
        // Requests of HTTP/1.0 do not contain `Expect` here.
        let expectations = request.headers[values: .expect].flatMap { $0.split(separator: ",") }
            .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }.filter { !$0.isEmpty }
        guard !expectations.isEmpty else { return try await next.respond(to: request, context: context) }
        guard expectations.allSatisfy({ $0 == "100-continue" }) else {
            return Response(
                status: .expectationFailed, headers: [.contentType: "text/plain; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: "Only “Expect: 100-continue” is supported.")))
        }
        var request = request
        request.body = RequestBody(asyncSequence: ExpectedContent(content: request.body, channel: context.channel))
        return try await next.respond(to: request, context: context)
    }
}

/// The content of a request whose client waits for `100 Continue`.
private struct ExpectedContent: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let content: RequestBody
    let channel: any Channel

    struct AsyncIterator: AsyncIteratorProtocol {
        var content: RequestBody.AsyncIterator
        var channel: (any Channel)?

        mutating func next() async throws -> ByteBuffer? {
            if let channel {
                self.channel = nil
                try await channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue)))
            }
            return try await content.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(content: content.makeAsyncIterator(), channel: channel)
    }
}
