import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// Opens WebSockets.
public struct WebSocketClient: Sendable {
    public init() {}

    /// Opens a WebSocket and runs `body` with it; closes it when `body` returns or throws.
    ///
    /// - Parameter uri: `ws://` or `http://`, `wss://` or `https://`, with host, optional port and path.
    /// - Throws: `WebError`, or what `body` throws.
    public func connect(
        to uri: String, _ body: @Sendable (WebSocketConnection) async throws -> Void
    ) async throws {
        let target = try WebAddress(uri)
        let upgrade: EventLoopFuture<WebSocketConnection.Wrapped?>
        do {
            upgrade = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .connectTimeout(.seconds(10))
                .connect(host: target.host, port: target.port) { channel in
                    channel.eventLoop.makeCompletedFuture { try Self.configure(channel, for: target) }
                }
        } catch let error as WebError {
            throw error
        } catch {
            throw WebError.unreachable(uri: uri, reason: Self.reason(of: error))
        }
        let connection: WebSocketConnection.Wrapped?
        do {
            connection = try await upgrade.get()
        } catch {
            throw WebError.unreachable(uri: uri, reason: Self.reason(of: error))
        }
        guard let connection else { throw WebError.upgradeRefused(uri: uri) }
        try await WebSocketConnection.run(connection, masksFrames: true, body)
    }

    private static func configure(
        _ channel: any Channel, for target: WebAddress
    ) throws -> EventLoopFuture<WebSocketConnection.Wrapped?> {
        if target.isSecure {
            let tls = try NIOSSLContext(configuration: .makeClientConfiguration())
            try channel.pipeline.syncOperations.addHandler(
                NIOSSLClientHandler(context: tls, serverHostname: target.isNumeric ? nil : target.host))
        }
        let upgrader = NIOTypedWebSocketClientUpgrader<WebSocketConnection.Wrapped?>(
            maxFrameSize: WebSocketConnection.messageSizeLimit,
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture { try WebSocketConnection.wrap(channel) }
            })
        var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: target.path)
        head.headers.add(name: "Host", value: "\(target.host):\(target.port)")
        head.headers.add(name: "Content-Length", value: "0")
        let configuration = NIOTypedHTTPClientUpgradeConfiguration<WebSocketConnection.Wrapped?>(
            upgradeRequestHead: head, upgraders: [upgrader],
            notUpgradingCompletionHandler: { channel in
                channel.close(promise: nil)
                return channel.eventLoop.makeSucceededFuture(nil)
            })
        return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(
            configuration: .init(upgradeConfiguration: configuration))
    }

    private static func reason(of error: any Error) -> String {
        if let error = error as? NIOConnectionError {
            return error.connectionErrors.first.map { "\($0.error)" } ?? "no address for \(error.host)"
        }
        return "\(error)"
    }
}
