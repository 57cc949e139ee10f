import Hummingbird
import Logging
import PCastCore
import PCastWeb
import ServiceLifecycle

/// A task of the platform that runs in the background until the platform stops.
struct BackgroundService: Service, CustomStringConvertible {
    let description: String
    private let operation: @Sendable () async -> Void

    /// Creates a service. `operation` runs until its task is cancelled, or ends before.
    init(_ name: String, _ operation: @escaping @Sendable () async -> Void) {
        description = name
        self.operation = operation
    }

    func run() async {
        let task = Task { await operation() }
        // The error means that the service was cancelled, because another one has failed.
        try? await gracefulShutdown()
        task.cancel()
        await task.value
    }
}

/// The servers of the platform's own ports.
struct PlatformServers: Service {
    let components: PlatformComponents
    let onListening: @Sendable (PlatformListening) async -> Void
    let logger: Logger

    /// Serves until a graceful shutdown. The port of TLS is open before that of HTTP, so that no client receives a TURN
    /// URI without a port.
    ///
    /// - Throws: ``PlatformError/addressInUse(_:_:)``.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            let routes = components.routes()
            let webSocketHandler = components.webSocketHandler()
            var tlsPort: Int?
            if let port = components.configuration.tlsPort, let security = components.security() {
                let secure = server(port, security, routes, webSocketHandler)
                let (ports, continuation) = AsyncStream<Int>.makeStream()
                group.addTask {
                    defer { continuation.finish() }
                    try await Self.run(secure, setting: .tlsPort) { continuation.yield($0) }
                }
                tlsPort = await ports.first { _ in true }
                // Without a port, the server has failed or is stopping.
                guard let tlsPort else { return try await group.waitForAll() }
                components.turnCredentials?.listens(at: tlsPort)
            }
            let plain = server(components.configuration.port, nil, routes, webSocketHandler)
            group.addTask { [components, onListening, tlsPort] in
                try await Self.run(plain, setting: .listen) { port in
                    await components.listens(port: port, tlsPort: tlsPort, onListening)
                }
            }
            // The first error ends the other server, too.
            while try await group.next() != nil {}
        }
    }

    private static func run(
        _ server: WebServer, setting: PlatformSetting, _ onListening: @escaping @Sendable (Int) async -> Void
    ) async throws {
        do {
            try await server.run(onListening: onListening)
        } catch {
            // Connections that do not end in time must not turn the end of the platform into an error.
            if setting == .tlsPort, Task.isShuttingDownGracefully || Task.isCancelled { return }
            guard error is WebError || setting == .tlsPort else { throw error }
            throw PlatformError.addressInUse("\(error)", setting)
        }
    }

    private func server(
        _ port: Int, _ security: WebServer.Security?, _ routes: Router<WebRequestContext>,
        _ webSocketHandler: @escaping @Sendable (WebSocketConnection) async throws -> Void
    ) -> WebServer {
        WebServer(
            binding: .init(host: components.configuration.bindingHost, port: port), security: security,
            gate: PlatformConnectionFilter(limiter: components.limiter), direct: components.videoRoutes(),
            firstRequestTimeout: components.configuration.firstRequestTimeout, router: routes,
            webSocketPath: PlatformComponents.webSocketPath,
            opensWebSocket: { [components] in components.opensWebSocket(at: $0) }, logger: logger,
            webSocket: webSocketHandler)
    }
}

/// The servers of a host's application, of which the platform learns the ports.
struct HostedServers: Service {
    let components: PlatformComponents
    let host: HostApplication
    let onListening: @Sendable (PlatformListening) async -> Void

    func run() async {
        let secure = Task {
            for await port in host.securePort.ports() { components.turnCredentials?.listens(at: port) }
        }
        let plain = Task {
            guard let port = await host.port.ports().first(where: { _ in true }) else { return }
            await components.listens(port: port, tlsPort: host.securePort.current, onListening)
        }
        // The error means that the service was cancelled, because another one has failed.
        try? await gracefulShutdown()
        for task in [secure, plain] { task.cancel() }
        for task in [secure, plain] { await task.value }
    }
}

extension PlatformComponents {
    /// Reports the ports of the HTTP servers to the ingest jobs and the program.
    func listens(
        port: Int, tlsPort: Int?, _ onListening: @Sendable (PlatformListening) async -> Void
    ) async {
        await workers.listens(at: configuration.uriForWorkers(port: port))
        await names.begin()
        let listening = listening(port: port, tlsPort: tlsPort)
        cluster?.listens(at: listening.uri)
        await onListening(listening)
    }
}

extension HostApplication.Parts {
    init(_ components: PlatformComponents) {
        let handler = components.webSocketHandler()
        let connection = { (security: WebServer.Security?) in
            HostedConnection(
                security: security, gate: PlatformConnectionFilter(limiter: components.limiter),
                webSocketPath: PlatformComponents.webSocketPath, opensWebSocket: { components.opensWebSocket(at: $0) },
                webSocket: handler)
        }
        self.init(
            responder: HostedResponder(router: components.routes()),
            connection: connection(nil), secureConnection: components.security().map(connection))
    }
}

/// The persistent data. It continues after its cancellation, until the changes of the last streams are written.
struct RecordsService: Service {
    let components: PlatformComponents
    let media: MediaService

    func run() async {
        let task = Task { await components.platformRecords.run(of: components.directory) }
        await withTaskCancellationOrGracefulShutdownHandler {
            await task.value
        } onCancelOrGracefulShutdown: {
            Task {
                await media.ended()
                await components.recordings.stop()
                components.platformRecords.finish()
            }
        }
    }
}

/// The events of the SFU. It continues after its cancellation, until the SFU has reported all ends.
struct MediaService: Service {
    private let components: PlatformComponents
    private let following: Task<Void, Never>

    /// Creates the service, and begins to follow the events.
    init(components: PlatformComponents) {
        self.components = components
        following = Task { await components.directory.follow(components.router.events) }
    }

    func run() async {
        await withTaskCancellationOrGracefulShutdownHandler {
            await ended()
        } onCancelOrGracefulShutdown: { [components] in
            Task {
                // After a graceful shutdown there are no jobs any more.
                await components.workers.stop(reason: .failed)
                components.router.stop()
            }
        }
    }

    /// Waits until the SFU has stopped and its last events are processed.
    func ended() async { await following.value }
}

/// The first part of a graceful shutdown, during which clients are still connected: it rejects new requests, and ends
/// all streams.
struct DrainService: Service {
    let components: PlatformComponents

    func run() async {
        do {
            try await gracefulShutdown()
        } catch {
            // Another service has failed. Publishers may resume their streams at the next platform.
            return
        }
        components.limiter.drain()
        await components.names.stop()
        await components.channels.stop()
        await components.directory.requestReconnects()
        await components.directory.endAll(reason: .maintenance)
        await components.workers.stop(reason: .maintenance)
        // Their responses have no other end, and the servers wait for them.
        components.names.eventLog.finish()
        components.edges?.video.stop()
    }
}
