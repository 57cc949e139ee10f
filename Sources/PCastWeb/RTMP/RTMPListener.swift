import NIOCore
import NIOPosix
package import PCastCore
package import PCastRTMP
import Synchronization

/// A server of RTMP publishers, with or without TLS (RTMPS).
///
/// It reads and writes the connections on event loops, and each connection has an `RTMPServerSession`. The caller
/// receives the events of a connection, and decides about its streams with an ``RTMPConnection``.
package final class RTMPListener: Sendable {
    /// Receives events of a connection in their order, on the connection's event loop, and returns without blocking.
    package typealias EventHandler = @Sendable ([RTMPServerEvent]) -> Void

    /// The options of a listener.
    package struct Options: Sendable {
        /// The address to listen on.
        package var host: String
        /// The port; 0 selects a free one.
        package var port: Int
        /// The certificate of RTMPS; nil for RTMP without TLS.
        package var certificate: TLSCertificate?
        /// The configuration of the sessions.
        package var session = RTMPServerConfiguration()
        /// The maximum number of connections. Further ones are closed at once.
        package var maximumConnections = 4_096

        /// Creates the default options of an address.
        package init(host: String, port: Int, certificate: TLSCertificate? = nil) {
            self.host = host
            self.port = port
            self.certificate = certificate
        }
    }

    private let server: any Channel
    private let connections: RTMPConnectionRegistry

    /// The port on which it listens.
    package var port: Int { server.localAddress?.port ?? 0 }

    /// The number of open connections.
    package var connectionCount: Int { connections.count }

    /// Opens the port.
    ///
    /// - Parameters:
    ///   - options: The options.
    ///   - gate: The filter of connections; nil to accept all.
    ///   - clock: The clock of the sessions' times.
    ///   - onConnection: A closure that is called for each connection on its event loop, and returns the handler of its
    ///     events.
    /// - Throws: An error of SwiftNIO if the port cannot be opened.
    package init(
        _ options: Options, gate: (any ConnectionFilter)? = nil, clock: @escaping @Sendable () -> Instant,
        onConnection: @escaping @Sendable (RTMPConnection) -> EventHandler
    ) async throws {
        let connections = RTMPConnectionRegistry(limit: options.maximumConnections)
        self.connections = connections
        server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(DescriptorReserveHandler())
                }
            }
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let address = TransportAddress(channel.remoteAddress)
                    guard gate?.admits(address?.ip) ?? true else { throw ChannelError.eof }
                    let wait = FirstRequestWait(gate: gate, address: address?.ip)
                    channel.closeFuture.whenComplete { _ in
                        wait.end()
                        gate?.closed(address?.ip)
                    }
                    try options.certificate?.secure(channel)
                    let handler = RTMPConnectionHandler(options.session, clock: clock)
                    let connection = RTMPConnection(
                        address, NIOLoopBound(handler, eventLoop: channel.eventLoop), channel)
                    guard connections.add(connection) else { throw ChannelError.eof }
                    channel.closeFuture.whenComplete { _ in connections.remove(connection) }
                    let receive = onConnection(connection)
                    handler.onEvents = { events in
                        // A client that has completed the handshake and sent a command is not idle.
                        if events.contains(where: \.isConnected) { wait.end() }
                        receive(events)
                    }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .bind(host: options.host, port: options.port).get()
    }

    /// Asks all clients that support it to connect again at their next key frame (Enhanced RTMP). The port stays open.
    ///
    /// - Parameters:
    ///   - address: The address to connect to; nil for the current one.
    ///   - description: The reason for the clients.
    package func requestReconnect(to address: String?, description: String) {
        for connection in connections.all { connection.requestReconnect(to: address, description: description) }
    }

    /// Closes the port and all connections. Clients receive a status before.
    package func stop() async {
        try? await server.close()
        let status = RTMPStatus(.error, "NetConnection.Connect.AppShutdown", "The server is stopping.")
        let open = connections.all
        for connection in open { connection.close(status) }
        for connection in open { await connection.closed() }
    }
}

/// The open connections of a listener.
final class RTMPConnectionRegistry: Sendable {
    private let limit: Int
    private let open = Mutex<[ObjectIdentifier: RTMPConnection]>([:])

    init(limit: Int) { self.limit = limit }

    var count: Int { open.withLock { $0.count } }
    var all: [RTMPConnection] { open.withLock { Array($0.values) } }

    /// Adds a connection. Returns false if there are too many.
    func add(_ connection: RTMPConnection) -> Bool {
        open.withLock { open in
            guard open.count < limit else { return false }
            open[ObjectIdentifier(connection)] = connection
            return true
        }
    }

    func remove(_ connection: RTMPConnection) {
        _ = open.withLock { $0.removeValue(forKey: ObjectIdentifier(connection)) }
    }
}

/// The connection of an RTMP client. Its methods may be called on any thread, and have no effect after its end.
package final class RTMPConnection: Sendable {
    /// The address of the client; nil if it is unknown.
    package let address: TransportAddress?
    private let handler: NIOLoopBound<RTMPConnectionHandler>
    private let channel: any Channel

    init(_ address: TransportAddress?, _ handler: NIOLoopBound<RTMPConnectionHandler>, _ channel: any Channel) {
        self.address = address
        self.handler = handler
        self.channel = channel
    }

    /// Accepts the stream that the client asked to publish.
    package func acceptPublishing() { run { $0.acceptPublishing(at: $1) } }

    /// Closes the connection, also to reject a stream. The client receives the status before, if there is one.
    package func close(_ status: RTMPStatus?) { run { session, _ in session.close(status) } }

    /// Sends a status to the client, such as a warning about its settings.
    package func send(_ status: RTMPStatus) { run { session, _ in session.send(status) } }

    /// Asks the client to connect again; see `RTMPServerSession.requestReconnect`.
    package func requestReconnect(to address: String?, description: String) {
        run { session, _ in _ = session.requestReconnect(to: address, description: description) }
    }

    /// Waits until the connection is closed.
    func closed() async { try? await channel.closeFuture.get() }

    private func run(_ body: @escaping @Sendable (inout RTMPServerSession, Instant) -> Void) {
        channel.eventLoop.execute { self.handler.value.run(body) }
    }
}

extension RTMPServerEvent {
    fileprivate var isConnected: Bool {
        if case .connected = self { return true }
        return false
    }
}
