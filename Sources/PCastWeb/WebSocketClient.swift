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
    /// - Throws: ``WebError``, `CancellationError`, or an error of `body`.
    package func connect(
        to uri: String, headers: [(name: String, value: String)] = [],
        _ body: @Sendable (WebSocketConnection) async throws -> Void
    ) async throws {
        let target = try WebAddress(uri)
        let attempt = ConnectionAttempt()
        let opened: WebSocketConnection.Wrapped?
        do {
            opened = try await withTaskCancellationHandler {
                try await Self.open(target, headers, attempt)
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
        try await WebSocketConnection.run(opened, masksFrames: true, body)
    }

    /// Returns nil if the server does not open a WebSocket.
    private static func open(
        _ target: WebAddress, _ headers: [(name: String, value: String)], _ attempt: ConnectionAttempt
    ) async throws -> WebSocketConnection.Wrapped? {
        let upgrade = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connectTimeout(ConnectionAttempt.limit)
            .connect(host: target.host, port: target.port) { channel in
                attempt.opened(channel)
                return channel.eventLoop.makeCompletedFuture { try configure(channel, for: target, headers) }
            }
        defer { attempt.succeeded() }
        return try await upgrade.get()
    }

    private static func configure(
        _ channel: any Channel, for target: WebAddress, _ headers: [(name: String, value: String)]
    ) throws -> EventLoopFuture<WebSocketConnection.Wrapped?> {
        if target.isSecure {
            let tls = try NIOSSLContext(configuration: .client)
            try channel.pipeline.syncOperations.addHandler(
                NIOSSLClientHandler(context: tls, serverHostname: target.isNumeric ? nil : target.host))
        }
        let upgrader = NIOTypedWebSocketClientUpgrader<WebSocketConnection.Wrapped?>(
            maxFrameSize: WebSocketConnection.messageSizeLimit,
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture { try WebSocketConnection.wrap(channel, isServer: false) }
            })
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: target.path)
        head.headers.add(name: "Host", value: target.authority)
        head.headers.add(name: "Content-Length", value: "0")
        for (name, value) in headers { head.headers.add(name: name, value: value) }
        let configuration = NIOTypedHTTPClientUpgradeConfiguration<WebSocketConnection.Wrapped?>(
            upgradeRequestHead: head, upgraders: [upgrader],
            notUpgradingCompletionHandler: { channel in
                channel.close(promise: nil)
                return channel.eventLoop.makeSucceededFuture(nil)
            })
        var pipeline = NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: configuration)
        // A server may send its first frames together with the response head. SwiftNIO drops them by default.
        pipeline.leftOverBytesStrategy = .forwardBytes
        return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(configuration: pipeline)
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
