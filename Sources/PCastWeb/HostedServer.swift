package import Hummingbird
package import HummingbirdCore
import HummingbirdHTTP2
package import Logging
package import NIOCore

/// Responds to requests that the router of a host application forwards, as a ``WebServer`` does.
package struct HostedResponder: Sendable {
    private let responder: ExpectationResponder<RouterResponder<WebRequestContext>>

    /// Creates a responder with the routes of a router.
    package init(router: Router<WebRequestContext>) {
        responder = ExpectationResponder(next: router.buildResponder())
    }

    /// Returns the response to a request that arrived on a connection of the host.
    ///
    /// - Throws: An error of a route that is not an HTTP response.
    package func respond(to request: Request, on channel: any Channel, logger: Logger) async throws -> Response {
        let context = WebRequestContext(source: ApplicationRequestContextSource(channel: channel, logger: logger))
        return try await responder.respond(to: request, context: context)
    }
}

/// The part of a host application's server that a router cannot handle: WebSockets, the limits of connections, and TLS
/// with TURN.
package struct HostedConnection: Sendable {
    let security: WebServer.Security?
    let gate: any ConnectionFilter
    let webSocketPath: String
    let opensWebSocket: @Sendable (String) -> Bool
    let webSocket: @Sendable (WebSocketConnection) async throws -> Void

    /// Creates the part. `security` is nil for a server without TLS. The other parameters are those of ``WebServer``.
    package init(
        security: WebServer.Security? = nil, gate: any ConnectionFilter, webSocketPath: String,
        opensWebSocket: @escaping @Sendable (String) -> Bool,
        webSocket: @escaping @Sendable (WebSocketConnection) async throws -> Void
    ) {
        self.security = security
        self.gate = gate
        self.webSocketPath = webSocketPath
        self.opensWebSocket = opensWebSocket
        self.webSocket = webSocket
    }

    /// Returns the builder of a host's server. `current` is called for each accepted connection. While it returns nil,
    /// a server without TLS opens no WebSockets, and a server with TLS closes the connection, because it has no
    /// certificate.
    package static func server(
        isSecure: Bool, _ current: @escaping @Sendable () -> HostedConnection?
    ) -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            HostedChannel(
                http: HTTP1Channel(responder: responder), http2: .web(responder, nil), isSecure: isSecure,
                current: current)
        }
    }
}

/// A connection of a host application's server. The part of the platform is determined when it is accepted, because a
/// host creates its server before the platform runs.
struct HostedChannel: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        let web: WebSocketUpgradableChannel
        let conversation: WebSocketUpgradableChannel.Value

        var channel: any Channel { conversation.channel }
    }

    let http: HTTP1Channel
    let http2: HTTP2Channel
    let isSecure: Bool
    let current: @Sendable () -> HostedConnection?

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let connection = current()
        var web = WebSocketUpgradableChannel(http: http, path: "", gate: nil, handler: { _ in })
        if let connection {
            web = WebSocketUpgradableChannel(
                http: http, path: connection.webSocketPath, isOpen: connection.opensWebSocket, gate: connection.gate,
                handler: connection.webSocket)
        }
        let conversation: EventLoopFuture<WebSocketUpgradableChannel.Value>
        if !isSecure {
            conversation = web.setup(channel: channel, logger: logger)
        } else if let security = connection?.security {
            let secure = SecureChannel(
                web: web, http2: http2, certificate: security.certificate, tunnels: security.tunnels)
            conversation = secure.setup(channel: channel, logger: logger)
        } else {
            conversation = web.refuse(channel)
        }
        return conversation.map { [web] in Value(web: web, conversation: $0) }
    }

    func handle(value: Value, logger: Logger) async {
        await value.web.handle(value: value.conversation, logger: logger)
    }
}
