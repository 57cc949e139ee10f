import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import Synchronization

/// A client that opens WebSockets.
package struct WebSocketClient: Sendable {
    /// Creates a client.
    package init() {}

    /// Opens a WebSocket, runs `body` with it, and closes it when `body` returns or throws.
    ///
    /// `uri` has the scheme `ws`, `wss`, `http` or `https`. `headers` are additional fields of the request, such as a
    /// token that must not occur in a URI.
    ///
    /// `firstMessages` is called at most once, when the connection is established, and returns text messages that are
    /// sent before those of `body`. The request waits for it, and contains the messages as far as ``EarlyMessages``
    /// permits. If the server does not read them there, they are sent as frames when the WebSocket is open.
    ///
    /// - Throws: ``WebError``, `CancellationError`, or an error of `body`.
    package func connect(
        to uri: String, headers: [(name: String, value: String)] = [],
        firstMessages: (@Sendable () async -> [String])? = nil,
        _ body: @Sendable (WebSocketConnection) async throws -> Void
    ) async throws {
        let target = try WebAddress(uri)
        let attempt = ConnectionAttempt()
        let first = FirstMessages(firstMessages)
        let opened: Opened?
        do {
            opened = try await withTaskCancellationHandler {
                try await Self.open(target, headers, first, attempt)
            } onCancel: {
                attempt.giveUp()
            }
        } catch let error as WebError {
            throw error
        } catch {
            try Task.checkCancellation()
            if attempt.hasTimedOut { throw WebError.unreachable(uri: uri, reason: "no response within 10 s") }
            throw WebError(reaching: uri, failedWith: error)
        }
        guard let opened else { throw WebError.upgradeRefused(uri: uri) }
        try await WebSocketConnection.run(opened.connection, masksFrames: true) { connection in
            for message in first.unread(opened.hasReadMessages) { try await connection.send(.text(message)) }
            try await body(connection)
        }
    }

    /// An open WebSocket.
    private struct Opened: Sendable {
        let connection: WebSocketConnection.Wrapped
        /// Whether the server has read the messages of the request.
        let hasReadMessages: Bool
    }

    /// Returns nil if the server does not open a WebSocket.
    private static func open(
        _ target: WebAddress, _ headers: [(name: String, value: String)], _ first: FirstMessages,
        _ attempt: ConnectionAttempt
    ) async throws -> Opened? {
        let upgrade = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connectTimeout(ConnectionAttempt.limit)
            .connect(host: target.host, port: target.port) { channel in
                attempt.opened(channel)
                return channel.eventLoop.makeCompletedFuture { try configure(channel, for: target, headers, first) }
            }
        defer { attempt.succeeded() }
        return try await upgrade.get()
    }

    private static func configure(
        _ channel: any Channel, for target: WebAddress, _ headers: [(name: String, value: String)],
        _ first: FirstMessages
    ) throws -> EventLoopFuture<Opened?> {
        if target.isSecure {
            let tls = try NIOSSLContext(configuration: .client)
            try channel.pipeline.syncOperations.addHandler(
                NIOSSLClientHandler(context: tls, serverHostname: target.isNumeric ? nil : target.host))
        }
        let upgrader = NIOTypedWebSocketClientUpgrader<Opened?>(
            maxFrameSize: WebSocketConnection.messageSizeLimit,
            upgradePipelineHandler: { channel, response in
                channel.eventLoop.makeCompletedFuture {
                    Opened(
                        connection: try WebSocketConnection.wrap(channel, isServer: false),
                        hasReadMessages: response.headers.contains(name: EarlyMessages.field))
                }
            })
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: target.path)
        head.headers.add(name: "Host", value: target.authority)
        head.headers.add(name: "Content-Length", value: "0")
        for (name, value) in headers { head.headers.add(name: name, value: value) }
        let configuration = NIOTypedHTTPClientUpgradeConfiguration<Opened?>(
            upgradeRequestHead: head, upgraders: [upgrader],
            notUpgradingCompletionHandler: { channel in
                channel.close(promise: nil)
                return channel.eventLoop.makeSucceededFuture(nil)
            })
        var pipeline = NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: configuration)
        // A server may send its first frames together with the response head. SwiftNIO drops them by default.
        pipeline.leftOverBytesStrategy = .forwardBytes
        let upgrade = try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(configuration: pipeline)
        let upgrades = try channel.pipeline.syncOperations.handler(type: NIOTypedHTTPClientUpgradeHandler<Opened?>.self)
        if first.areProvided {
            try channel.pipeline.syncOperations.addHandler(FirstMessagesHandler(first), position: .before(upgrades))
        }
        return upgrade
    }
}

/// The first messages of a client, which are in its request or are sent as frames.
private final class FirstMessages: Sendable {
    private struct State {
        /// Returns the messages; nil after its call.
        var make: (@Sendable () async -> [String])?
        var early: [String] = []
        var others: [String] = []
    }

    /// Whether there may be messages.
    let areProvided: Bool
    private let state: Mutex<State>

    init(_ make: (@Sendable () async -> [String])?) {
        areProvided = make != nil
        state = Mutex(State(make: make))
    }

    /// Returns the value of the request's field; nil if there is no message for it. Only the first call has a result,
    /// because of several connections to the addresses of a server, only the first one is used.
    func fieldValue() async -> String? {
        guard let make = state.withLock({ $0.make.take() }) else { return nil }
        let messages = await make()
        let (early, others) = EarlyMessages.divide(messages)
        state.withLock { ($0.early, $0.others) = (early, others) }
        return early.isEmpty ? nil : EarlyMessages.join(early)
    }

    /// Returns the messages that the server has not read yet.
    func unread(_ hasReadMessages: Bool) -> [String] {
        state.withLock { state in
            defer { (state.early, state.others) = ([], []) }
            return (hasReadMessages ? [] : state.early) + state.others
        }
    }
}

/// Adds the first messages to the request when the connection is established, and holds the request until then.
private final class FirstMessagesHandler: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private let messages: FirstMessages
    /// The parts of the request, which are written together.
    private var held: [(part: HTTPClientRequestPart, promise: EventLoopPromise<Void>?)] = []
    private var isRemoved = false

    init(_ messages: FirstMessages) { self.messages = messages }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        held.append((unwrapOutboundIn(data), promise))
        guard held.count == 1 else { return }
        let value = context.eventLoop.makeFutureWithTask { [messages] in await messages.fieldValue() }
        value.assumeIsolated().whenComplete { result in
            self.release(context, try? result.get())
        }
    }

    /// Writes the request with a value of the field.
    private func release(_ context: ChannelHandlerContext, _ value: String?) {
        guard !isRemoved else { return }
        for (part, promise) in held {
            var part = part
            if case .head(var head) = part, let value {
                head.headers.add(name: EarlyMessages.field, value: value)
                part = .head(head)
            }
            context.write(wrapOutboundOut(part), promise: promise)
        }
        held = []
        context.flush()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    /// Fails what is held if the channel was closed meanwhile.
    func handlerRemoved(context: ChannelHandlerContext) {
        isRemoved = true
        for (_, promise) in held { promise?.fail(ChannelError.ioOnClosedChannel) }
        held = []
    }
}

/// The connections of an attempt to reach a server, so that a waiting caller can cancel it.
final class ConnectionAttempt: Sendable {
    private struct State {
        /// One connection for each address of the server.
        var channels: [any Channel] = []
        var isOver = false
        var hasTimedOut = false
    }

    /// The time limit from the beginning to the server's response to the whole handshake.
    static let limit = TimeAmount.seconds(10)

    private let state = Mutex(State())

    func opened(_ channel: any Channel) {
        let isOver = state.withLock { state in
            if !state.isOver { state.channels.append(channel) }
            return state.isOver
        }
        if isOver { return channel.close(promise: nil) }
        channel.eventLoop.scheduleTask(in: Self.limit) { [weak self] in self?.timeOut() }
    }

    /// Whether the attempt failed because the time limit was reached.
    var hasTimedOut: Bool { state.withLock { $0.hasTimedOut } }

    private func timeOut() {
        state.withLock { $0.hasTimedOut = !$0.isOver }
        giveUp()
    }

    /// Ends the attempt successfully and keeps the connection.
    func succeeded() { _ = end() }

    /// Closes all connections, so that waiting callers fail.
    func giveUp() {
        for channel in end() { channel.close(promise: nil) }
    }

    private func end() -> [any Channel] {
        state.withLock { state in
            defer { state.channels = [] }
            state.isOver = true
            return state.channels
        }
    }
}
