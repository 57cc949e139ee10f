import HTTPTypes
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOWebSocket
import PCastCore

/// A connection that uses HTTP/1.1 until a request opens a WebSocket at the given path.
struct WebSocketUpgradableChannel: ServerChildChannel {
    typealias HTTPChannel = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

    enum Conversation: Sendable {
        case http(HTTPChannel)
        /// The connection uses HTTP/2, which only TLS offers.
        case http2(HTTP2Channel, HTTP2Channel.Value)
        case webSocket(WebSocketConnection.Wrapped, WebSocketConnection.Request)
        /// The connection belongs to another protocol until it is closed.
        case tunnel
        /// The gate rejected the connection.
        case refused
    }

    struct Value: ServerChildChannelValue {
        let upgrade: EventLoopFuture<Conversation>
        let channel: any Channel
    }

    let http: HTTP1Channel
    let path: String
    /// Returns whether a WebSocket may be opened at another path.
    var isOpen: @Sendable (String) -> Bool = { _ in false }
    let gate: (any ConnectionFilter)?
    /// Responds before the routes; nil for none.
    var direct: (any DirectResponder)?
    /// The time from the acceptance of a connection until the head of its first request.
    var firstRequestTimeout = TimeAmount.seconds(10)
    let handler: @Sendable (WebSocketConnection) async throws -> Void

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        if let refused = admit(channel) { return refused }
        return channel.eventLoop.makeCompletedFuture {
            // The receive buffer remains for the WebSocket that the connection may become. Most requests are shorter
            // than this.
            try channel.syncOptions?.setOption(
                .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 1_024, maximum: 65_536))
            return Value(upgrade: try configure(channel, isSecure: false), channel: channel)
        }
    }

    /// Returns the result for a connection that the gate rejects. Otherwise begins the wait for the first request and
    /// returns nil. It must be called on the channel's event loop before other handlers are added.
    func admit(_ channel: any Channel) -> EventLoopFuture<Value>? {
        let address = TransportAddress(channel.remoteAddress)?.ip
        guard gate?.admits(address) ?? true else { return refuse(channel) }
        let wait = FirstRequestWait(gate: gate, address: address)
        channel.closeFuture.whenComplete { [gate] _ in
            wait.end()
            gate?.closed(address)
        }
        // This fails only if the connection is closed already.
        try? channel.pipeline.syncOperations.addHandler(
            FirstRequestHandler(timeout: firstRequestTimeout, wait), name: FirstRequestHandler.name, position: .first)
        return nil
    }

    /// Closes a connection and returns the result for it, which is not an error, because an error would stop the server.
    func refuse(_ channel: any Channel) -> EventLoopFuture<Value> {
        channel.close(promise: nil)
        return channel.eventLoop.makeSucceededFuture(
            Value(upgrade: channel.eventLoop.makeSucceededFuture(.refused), channel: channel))
    }

    /// Adds the handlers of HTTP/1.1. It must be called on the channel's event loop.
    func configure(_ channel: any Channel, isSecure: Bool) throws -> EventLoopFuture<Conversation> {
        let upgrader = NIOTypedWebSocketServerUpgrader<Conversation>(
            maxFrameSize: WebSocketConnection.messageSizeLimit,
            shouldUpgrade: { channel, head in
                var headers = HTTPHeaders()
                if let messages = EarlyMessages(head.headers[EarlyMessages.field]) {
                    headers.add(name: EarlyMessages.field, value: messages.confirmation)
                }
                return channel.eventLoop.makeSucceededFuture(headers)
            },
            upgradePipelineHandler: { channel, head in
                // The connection keeps the fields, but not these messages.
                var fields = head.headers
                fields.remove(name: EarlyMessages.field)
                let request = WebSocketConnection.Request(
                    host: fields.first(name: "host"), origin: fields.first(name: "origin"),
                    uri: head.uri, fields: { [fields] in fields[$0] },
                    earlyMessages: EarlyMessages(head.headers[EarlyMessages.field]))
                return channel.eventLoop.makeCompletedFuture {
                    .webSocket(try WebSocketConnection.wrap(channel, isServer: true), request)
                }
            })
        var configuration = NIOUpgradableHTTPServerPipelineConfiguration(
            upgradeConfiguration: .init(
                upgraders: [upgrader],
                notUpgradingCompletionHandler: { [direct] channel in
                    channel.eventLoop.makeCompletedFuture {
                        .http(try Self.wrapHTTP(channel, isSecure: isSecure, direct))
                    }
                }))
        configuration.enablePipelining = false  // Hummingbird pipelines by itself
        configuration.enableErrorHandling = false
        configuration.enableResponseHeaderValidation = false
        let upgrade = try channel.pipeline.syncOperations.configureUpgradableHTTPServerPipeline(
            configuration: configuration)
        let upgrades = try channel.pipeline.syncOperations.handler(
            type: NIOTypedHTTPServerUpgradeHandler<Conversation>.self)
        try channel.pipeline.syncOperations.addHandler(
            UpgradeRequestFilter(path: path, orWhere: isOpen), position: .before(upgrades))
        let silence = SilentConnectionHandler()
        try channel.pipeline.syncOperations.addHandler(silence)
        let guarded = upgrade.assumeIsolated()
        guarded.whenComplete { _ in
            let pipeline = channel.pipeline.syncOperations
            pipeline.removeHandler(silence, promise: nil)
            pipeline.removeHandler(name: FirstRequestHandler.name, promise: nil)
        }
        return upgrade
    }

    private static func wrapHTTP(
        _ channel: any Channel, isSecure: Bool, _ direct: (any DirectResponder)?
    ) throws -> HTTPChannel {
        let idle = IdleConnectionHandler()
        if let direct { try channel.pipeline.syncOperations.addHandler(DirectConnectionHandler(direct, idle)) }
        try channel.pipeline.syncOperations.addHandler(ConnectionPersistenceHandler())
        try channel.pipeline.syncOperations.addHandler(HTTP1ToHTTPServerCodec(secure: isSecure))
        try channel.pipeline.syncOperations.addHandler(idle)
        return try NIOAsyncChannel(
            wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
    }

    func handle(value: Value, logger: Logger) async {
        do {
            switch try await value.upgrade.get() {
            case .http(let channel): await http.handle(value: channel, logger: logger)
            case .http2(let http2, let connection): await http2.handle(value: connection, logger: logger)
            case .webSocket(let channel, let request):
                try await WebSocketConnection.run(channel, masksFrames: false, request: request, handler)
            case .tunnel, .refused: try await value.channel.closeFuture.get()
            }
        } catch {
            logger.debug("connection ended", metadata: ["error": "\(error)"])
        }
    }
}

/// Removes the `Upgrade` field from the first request of a connection unless it opens an existing WebSocket. A server
/// may ignore the field (RFC 9110, section 7.8).
///
/// The upgrade handler of SwiftNIO drops the head of a request that it does not upgrade, so that there would be no
/// response. Clients that offer HTTP/2 without TLS (`Upgrade: h2c`) send such requests.
final class UpgradeRequestFilter: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let path: String
    private let isOpen: @Sendable (String) -> Bool
    private var hasSeenHead = false

    /// Creates a filter that permits WebSockets at `path`, and at paths for which `isOpen` returns true.
    init(path: String, orWhere isOpen: @escaping @Sendable (String) -> Bool) {
        (self.path, self.isOpen) = (path, isOpen)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Data after an upgrade is not HTTP.
        guard !hasSeenHead, case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        hasSeenHead = true
        if !asksForWebSocket(head) { head.headers.remove(name: "Upgrade") }
        context.fireChannelRead(wrapInboundOut(.head(head)))
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    /// Returns whether a request opens a WebSocket (RFC 6455, section 4.2.1).
    private func asksForWebSocket(_ head: HTTPRequestHead) -> Bool {
        let headers = head.headers
        let requestPath = String(head.uri.prefix { $0 != "?" })
        return head.method == .GET && !head.version.isBeforeHTTP11 && (requestPath == path || isOpen(requestPath))
            && headers[canonicalForm: "Upgrade"].contains { $0.lowercased() == "websocket" }
            && headers[canonicalForm: "Connection"].contains { $0.lowercased() == "upgrade" }
            && headers["Sec-WebSocket-Version"] == ["13"] && headers["Sec-WebSocket-Key"].count == 1
    }
}
