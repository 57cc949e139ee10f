import Glibc
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

    /// TLS, and who takes the connections within it that speak neither HTTP nor WebSocket.
    public struct Security: Sendable {
        public var certificate: TLSCertificate
        public var tunnels: TunnelServer?

        public init(_ certificate: TLSCertificate, tunnels: TunnelServer? = nil) {
            self.certificate = certificate
            self.tunnels = tunnels
        }
    }

    private let binding: Binding
    private let security: Security?
    private let gate: (any ConnectionGate)?
    private let responder: ExpectationResponder<RouterResponder<WebRequestContext>>
    private let webSocketPath: String
    private let opensWebSocket: @Sendable (String) -> Bool
    private let webSocket: @Sendable (WebSocketConnection) async throws -> Void
    private let logger: Logger

    /// - Parameters:
    ///   - security: nil for no TLS.
    ///   - gate: nil takes every connection.
    ///   - webSocketPath: where a WebSocket may be opened, such as `/ws`.
    ///   - opensWebSocket: whether one may be opened at another path; ``WebSocketConnection/Request/uri`` says at which it was.
    ///   - webSocket: runs as long as its connection; returning closes it.
    public init(
        binding: Binding, security: Security? = nil, gate: (any ConnectionGate)? = nil,
        router: Router<WebRequestContext>, webSocketPath: String,
        opensWebSocket: @escaping @Sendable (String) -> Bool = { _ in false }, logger: Logger,
        webSocket: @escaping @Sendable (WebSocketConnection) async throws -> Void
    ) {
        self.binding = binding
        self.security = security
        self.gate = gate
        responder = ExpectationResponder(next: router.buildResponder())
        self.webSocketPath = webSocketPath
        self.opensWebSocket = opensWebSocket
        self.webSocket = webSocket
        self.logger = logger
    }

    /// How long connections have to end by themselves when the server ends.
    private static let patience = Duration.seconds(2)

    /// Serves until the task is cancelled; then lets requests be answered and WebSockets say goodbye.
    ///
    /// - Parameter onListening: called once with the port that is open.
    /// - Throws: `WebError.addressInUse`.
    public func run(onListening: @escaping @Sendable (Int) async -> Void) async throws {
        let service = security.map { secure($0, onListening) } ?? plain(onListening)
        var configuration = ServiceGroupConfiguration(
            services: [service], gracefulShutdownSignals: [], logger: logger)
        configuration.maximumGracefulShutdownDuration = Self.patience
        let group = ServiceGroup(configuration: configuration)
        // In a task of its own, as a cancelled one would cut its connections.
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
        let (path, isOpen, handler, gate) = (webSocketPath, opensWebSocket, webSocket, gate)
        return application(
            HTTPServerBuilder { responder in
                WebSocketUpgradableChannel(
                    http: HTTP1Channel(responder: responder), path: path, isOpen: isOpen, gate: gate, handler: handler)
            }, onListening)
    }

    private func secure(
        _ security: Security, _ onListening: @escaping @Sendable (Int) async -> Void
    ) -> any Service {
        let (path, isOpen, handler, gate) = (webSocketPath, opensWebSocket, webSocket, gate)
        return application(
            HTTPServerBuilder { responder in
                SecureChannel(
                    web: WebSocketUpgradableChannel(
                        http: HTTP1Channel(responder: responder), path: path, isOpen: isOpen, gate: gate,
                        handler: handler),
                    certificate: security.certificate, tunnels: security.tunnels)
            }, onListening)
    }

    private func application(
        _ server: HTTPServerBuilder, _ onListening: @escaping @Sendable (Int) async -> Void
    ) -> any Service {
        Application(
            responder: responder, server: server,
            configuration: .init(
                address: .hostname(binding.host, port: binding.port), serverName: nil, reuseAddress: true),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? 0) },
            eventLoopGroupProvider: .singleton,
            logger: logger)
    }
}
