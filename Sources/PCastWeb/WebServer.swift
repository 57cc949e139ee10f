public import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
import NIOPosix
import NIOSSL
import ServiceLifecycle

/// A web server: HTTP routes, and one address where clients may turn the connection into a WebSocket.
public struct WebServer: Sendable {
    /// Where it listens.
    public struct Binding: Sendable {
        public var host: String
        /// Zero takes a free port.
        public var port: Int

        public init(host: String, port: Int) {
            self.host = host
            self.port = port
        }
    }

    private let binding: Binding
    private let responder: RouterResponder<WebRequestContext>
    private let webSocketPath: String
    private let webSocket: @Sendable (WebSocketConnection) async throws -> Void
    private let logger: Logger

    /// - Parameters:
    ///   - webSocketPath: where a WebSocket may be opened, such as `/ws`.
    ///   - webSocket: runs as long as its connection; returning closes it.
    public init(
        binding: Binding, router: Router<WebRequestContext>, webSocketPath: String, logger: Logger,
        webSocket: @escaping @Sendable (WebSocketConnection) async throws -> Void
    ) {
        self.binding = binding
        responder = router.buildResponder()
        self.webSocketPath = webSocketPath
        self.webSocket = webSocket
        self.logger = logger
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameter onListening: called once with the port that is open.
    /// - Throws: `WebError.addressInUse`.
    public func run(onListening: @escaping @Sendable (Int) async -> Void) async throws {
        let path = webSocketPath
        let handler = webSocket
        let application = Application(
            responder: responder,
            server: HTTPServerBuilder { responder in
                WebSocketUpgradableChannel(http: HTTP1Channel(responder: responder), path: path, handler: handler)
            },
            configuration: .init(
                address: .hostname(binding.host, port: binding.port), serverName: nil, reuseAddress: true),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? 0) },
            eventLoopGroupProvider: .singleton,
            logger: logger)
        let group = ServiceGroup(
            configuration: .init(services: [application], gracefulShutdownSignals: [], logger: logger))
        do {
            try await withTaskCancellationHandler {
                try await group.run()
            } onCancel: {
                Task { await group.triggerGracefulShutdown() }
            }
        } catch let error as IOError where error.errnoCode == 98 {  // EADDRINUSE
            throw WebError.addressInUse(host: binding.host, port: binding.port)
        }
    }
}
