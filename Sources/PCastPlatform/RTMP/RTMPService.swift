import Logging
import PCastCore
import PCastIO
import PCastRTMP
import PCastWeb
import ServiceLifecycle
import Synchronization

/// The server for RTMP publishers.
final class RTMPService: Service {
    /// The application of addresses (`rtmp://HOST/ingest/KEY`), as at Phenix.
    static let application = "ingest"

    let ingest: IngestService
    let logger: Logger
    private let listeners = Mutex<[RTMPListener]>([])
    private let rejections = Atomic(0)
    /// The open connections whose clients can be requested to connect again, by the order of their `connect`.
    private let movable = Mutex<[Int: RTMPClient]>([:])
    private let nextClient = Atomic(0)

    init(ingest: IngestService, logger: Logger) {
        self.ingest = ingest
        self.logger = logger
    }

    // MARK: Ports

    /// Opens the ports of a configuration. If one cannot be opened, none is.
    ///
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - host: The address to listen on.
    ///   - certificate: The certificate of RTMPS; nil if there is no port for it.
    ///   - limiter: The limits of connections.
    /// - Returns: The ports.
    /// - Throws: ``PlatformError/addressInUse(_:_:)``.
    func open(
        _ configuration: RTMPConfiguration, host: String, certificate: TLSCertificate?, limiter: RequestLimiter
    ) async throws(PlatformError) -> RTMPListening {
        let port = try await open(configuration.port, .rtmpPort, configuration, host: host, certificate: nil, limiter)
        do throws(PlatformError) {
            let tlsPort = try await open(
                configuration.tlsPort, .rtmpsPort, configuration, host: host, certificate: certificate, limiter)
            return RTMPListening(port: port, tlsPort: tlsPort)
        } catch {
            await stop()
            throw error
        }
    }

    private func open(
        _ port: Int?, _ setting: PlatformSetting, _ configuration: RTMPConfiguration, host: String,
        certificate: TLSCertificate?, _ limiter: RequestLimiter
    ) async throws(PlatformError) -> Int? {
        guard let port else { return nil }
        let isSecure = certificate != nil
        var options = RTMPListener.Options(host: host, port: port, certificate: certificate)
        options.session.setupTimeout = TimeSpan(configuration.setupTimeout)
        options.session.silenceTimeout = TimeSpan(configuration.silenceTimeout)
        do {
            let listener = try await RTMPListener(
                options,
                gate: PlatformConnectionFilter(limiter: limiter), clock: { MonotonicClock.now() },
                onConnection: { [self] connection in
                    let client = RTMPClient(connection, of: self, isSecure: isSecure)
                    return { events in client.receive(events) }
                })
            listeners.withLock { $0.append(listener) }
            return listener.port
        } catch {
            throw .addressInUse("port \(port) of \(host) cannot be opened: \(error)", setting)
        }
    }

    /// Serves until the platform stops. All streams have ended then, and their publishers have received the reason.
    func run() async {
        // The error means that the service was cancelled, because another one has failed.
        try? await gracefulShutdown()
        await stop()
    }

    /// Closes the ports and all connections.
    private func stop() async {
        let open = listeners.withLock { listeners in
            defer { listeners = [] }
            return listeners
        }
        for listener in open { await listener.stop() }
    }

    // MARK: Draining

    /// Requests clients that support it to connect to another node (Enhanced RTMP v2, "Reconnect Request"). Each one
    /// receives one request. Its stream continues until it closes the connection.
    ///
    /// - Parameters:
    ///   - address: The address of a node for clients without TLS; nil if there is none, and then they stay.
    ///   - secureAddress: The same for clients with TLS.
    ///   - start: The time since which the node drains. Requests before it do not count.
    ///   - limit: The maximum number of requests.
    ///   - now: The current time.
    func requestReconnects(
        to address: String?, orSecurelyTo secureAddress: String?, since start: Instant, atMost limit: Int,
        at now: Instant
    ) {
        var left = limit
        for (_, client) in movable.withLock({ $0 }).sorted(by: { $0.key < $1.key }) where left > 0 {
            guard let target = client.isSecure ? secureAddress : address else { continue }
            if client.requestReconnect(to: target, since: start, at: now) { left -= 1 }
        }
        if left < limit { logger.info("RTMP clients are moved", metadata: ["count": "\(limit - left)"]) }
    }

    /// Adds a client that supports requests to connect again. Returns its number.
    fileprivate func add(_ client: RTMPClient) -> Int {
        let number = nextClient.add(1, ordering: .relaxed).oldValue
        movable.withLock { $0[number] = client }
        return number
    }

    fileprivate func remove(_ number: Int) { _ = movable.withLock { $0.removeValue(forKey: number) } }

    // MARK: Statistics

    /// The number of open connections.
    var connectionCount: Int { listeners.withLock { $0 }.reduce(0) { $0 + $1.connectionCount } }

    /// The number of publishers that were rejected since the start.
    var rejectionCount: Int { rejections.load(ordering: .relaxed) }

    func noteRejection() { rejections.add(1, ordering: .relaxed) }
}

/// The connection of an RTMP client, which publishes one stream after another.
private final class RTMPClient: Sendable {
    private let connection: RTMPConnection
    private let service: RTMPService
    /// Whether the connection uses TLS.
    let isSecure: Bool
    private let publisher = Mutex<IngestPublisher?>(nil)
    /// The number among the clients that can be requested to connect again; nil if the client is not one of them.
    private let number = Mutex<Int?>(nil)
    /// The time of the last request to connect again; nil for none.
    private let requestedAt = Mutex<Instant?>(nil)

    init(_ connection: RTMPConnection, of service: RTMPService, isSecure: Bool) {
        self.connection = connection
        self.service = service
        self.isSecure = isSecure
    }

    /// Requests the client to connect to another address. Returns false if it has been requested since a time.
    func requestReconnect(to address: String, since start: Instant, at now: Instant) -> Bool {
        let isFirst = requestedAt.withLock { requestedAt in
            if let requestedAt, requestedAt >= start { return false }
            requestedAt = now
            return true
        }
        if isFirst { connection.requestReconnect(to: address, description: "The node is about to stop.") }
        return isFirst
    }

    /// Receives the events of one read, on the connection's event loop.
    func receive(_ events: [RTMPServerEvent]) {
        let now = MonotonicClock.now()
        var media: [RTMPServerEvent] = []
        for event in events {
            switch event {
            case .publishRequested(let address):
                let publisher = IngestPublisher(
                    RTMPIngestConnection(connection: connection, service: service), of: service.ingest, at: now)
                self.publisher.withLock { $0 = publisher }
                let (access, ip) = (service.ingest.access, connection.address?.ip)
                publisher.begin(requesting: address.capabilities) { () async throws(APIError) in
                    guard address.application == RTMPService.application else { throw .unknownRTMPApplication }
                    return try await access.identify(address.key, from: ip, at: now)
                }
            case .warning(let warning):
                service.logger.info(
                    "RTMP publisher", metadata: ["address": "\(text)", "warning": "\(warning)"])
                connection.send(.warning("\(warning)"))
            case .unpublished, .closed:
                deliver(&media, at: now)
                // Without a command before it, the end of the connection is that of a failed encoder.
                let isLost = events.contains { if case .closed = $0 { true } else { false } }
                if isLost, let number = number.withLock({ $0.take() }) { service.remove(number) }
                publisher.withLock({ publisher in
                    defer { publisher = nil }
                    return publisher
                })?.end(isLost ? .failed : .ended)
            case .connected(let client):
                service.logger.debug(
                    "RTMP client connected",
                    metadata: ["address": "\(text)", "encoder": "\(client.encoder ?? "unknown")"])
                if client.capabilities.contains(.reconnect) {
                    let added = service.add(self)
                    number.withLock { $0 = added }
                }
            default: media.append(event)
            }
        }
        deliver(&media, at: now)
    }

    private var text: String { connection.address.map { "\($0.ip)" } ?? "unknown" }

    private func deliver(_ media: inout [RTMPServerEvent], at now: Instant) {
        guard !media.isEmpty else { return }
        publisher.withLock { $0 }?.receive(media, at: now)
        media = []
    }
}

/// The connection of an RTMP publisher.
private struct RTMPIngestConnection: IngestConnection {
    let connection: RTMPConnection
    let service: RTMPService

    var ingestProtocol: IngestProtocol { .rtmp }
    var address: TransportAddress? { connection.address }

    func acceptPublishing() { connection.acceptPublishing() }

    func warn(_ message: String) { connection.send(.warning(message)) }

    func reject(_ error: APIError) {
        service.noteRejection()
        connection.close(RTMPStatus(error))
    }

    func end(because description: String) {
        connection.close(.badName("The platform has ended the stream: \(description)."))
    }

    func end(_ end: StreamEnd) { connection.close(RTMPStatus(end)) }
}

extension APIError {
    fileprivate static let unknownRTMPApplication = APIError(
        .badRequest, "The address is not valid: use rtmp://HOST/ingest and the stream key.",
        detail: "unknown RTMP application")
}

extension RTMPStatus {
    /// Returns the status with which a publisher is rejected.
    init(_ error: APIError) {
        self =
            switch error.kind {
            case .unauthorized, .conflict, .badRequest: .badName(error.message)
            default: .rejected(error.message)
            }
    }

    /// Returns the status of a stream that ends at the platform.
    init(_ end: StreamEnd) {
        self =
            end.reason == .maintenance
            ? RTMPStatus(.error, "NetConnection.Connect.AppShutdown", "The platform is stopping: connect again soon.")
            : RTMPStatus(.error, "NetConnection.Connect.Closed", "The platform has ended the stream: \(end.wire).")
    }

    /// Returns the status of a problem with which the stream continues.
    static func warning(_ description: String) -> RTMPStatus {
        RTMPStatus(.warning, "NetStream.Publish.Warning", description)
    }
}
