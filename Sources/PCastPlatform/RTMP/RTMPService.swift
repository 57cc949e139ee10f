import Logging
import PCastCore
import PCastIO
import PCastRTMP
import PCastWeb
import ServiceLifecycle
import Synchronization

/// The server for RTMP publishers: its ports, and the keys that are in use.
final class RTMPService: Service {
    let directory: StreamDirectory
    let access: RTMPAccess
    /// See `RTMPConfiguration.takesOver`.
    private let takesOver: Bool
    /// The program that transcodes AAC; nil for none.
    let transcoder: AudioTranscodingConfiguration?
    let logger: Logger
    private let listeners = Mutex<[RTMPListener]>([])
    /// The publishers by the fingerprints of their keys.
    private let publishers = Mutex<[String: RTMPPublisher]>([:])
    private let rejections = Atomic(0)
    /// The number of keys that were revoked since the start.
    private let revocations = Atomic(0)

    init(directory: StreamDirectory, access: RTMPAccess, configuration: RTMPConfiguration, logger: Logger) {
        self.directory = directory
        self.access = access
        takesOver = configuration.takesOver
        transcoder = configuration.transcoder
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
        let port = try await open(configuration.port, .rtmpPort, host: host, certificate: nil, limiter)
        do throws(PlatformError) {
            let tlsPort = try await open(
                configuration.tlsPort, .rtmpsPort, host: host, certificate: certificate, limiter)
            return RTMPListening(port: port, tlsPort: tlsPort)
        } catch {
            await stop()
            throw error
        }
    }

    private func open(
        _ port: Int?, _ setting: PlatformSetting, host: String, certificate: TLSCertificate?, _ limiter: RequestLimiter
    ) async throws(PlatformError) -> Int? {
        guard let port else { return nil }
        do {
            let listener = try await RTMPListener(
                .init(host: host, port: port, certificate: certificate),
                gate: PlatformConnectionFilter(limiter: limiter), clock: { MonotonicClock.now() },
                onConnection: { [self] connection in
                    let client = RTMPClient(connection, of: self)
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

    // MARK: Statistics

    /// The number of open connections.
    var connectionCount: Int { listeners.withLock { $0 }.reduce(0) { $0 + $1.connectionCount } }

    /// The number of publishers that were rejected since the start.
    var rejectionCount: Int { rejections.load(ordering: .relaxed) }

    func noteRejection() { rejections.add(1, ordering: .relaxed) }

    // MARK: Keys

    /// Assigns a key to a publisher.
    ///
    /// - Returns: The publisher that had the key and must be ended; nil if there is none.
    /// - Throws: ``APIError`` with the kind `conflict` if another publisher uses the key.
    func assign(
        _ fingerprint: String, to publisher: RTMPPublisher, at now: Instant
    ) throws(APIError) -> RTMPPublisher? {
        let former = publishers.withLock { $0[fingerprint] }
        guard former == nil || takesOver || former?.isSilent(at: now) == true else { throw .keyInUse }
        return publishers.withLock { publishers in
            defer { publishers[fingerprint] = publisher }
            return publishers[fingerprint]
        }
    }

    /// The number of keys that were revoked since the start. A publisher whose key was found before a revocation is
    /// rejected.
    var revocationCount: Int { revocations.load(ordering: .sequentiallyConsistent) }

    /// Ends the stream of a key that was revoked or replaced in the database. It returns when the stream has ended.
    func revoke(_ fingerprint: String) async {
        revocations.add(1, ordering: .sequentiallyConsistent)
        await publishers.withLock { $0[fingerprint] }?.end(because: "stream key revoked")
    }

    /// Releases the key of a publisher that has ended.
    func release(_ fingerprint: String, of publisher: RTMPPublisher) {
        publishers.withLock { publishers in
            if publishers[fingerprint] === publisher { publishers[fingerprint] = nil }
        }
    }
}

/// The connection of an RTMP client, which publishes one stream after another.
private final class RTMPClient: Sendable {
    private let connection: RTMPConnection
    private let service: RTMPService
    private let publisher = Mutex<RTMPPublisher?>(nil)

    init(_ connection: RTMPConnection, of service: RTMPService) {
        self.connection = connection
        self.service = service
    }

    /// Receives the events of one read, on the connection's event loop.
    func receive(_ events: [RTMPServerEvent]) {
        let now = MonotonicClock.now()
        var media: [RTMPServerEvent] = []
        for event in events {
            switch event {
            case .publishRequested(let address):
                let publisher = RTMPPublisher(connection, of: service, at: now)
                self.publisher.withLock { $0 = publisher }
                publisher.begin(address)
            case .warning(let warning):
                service.logger.info(
                    "RTMP publisher", metadata: ["address": "\(text)", "warning": "\(warning)"])
                connection.send(.warning("\(warning)"))
            case .unpublished, .closed:
                deliver(&media, at: now)
                // Without a command before it, the end of the connection is that of a failed encoder.
                let isLost = events.contains { if case .closed = $0 { true } else { false } }
                publisher.withLock({ publisher in
                    defer { publisher = nil }
                    return publisher
                })?.end(isLost ? .failed : .ended)
            case .connected(let client):
                service.logger.debug(
                    "RTMP client connected",
                    metadata: ["address": "\(text)", "encoder": "\(client.encoder ?? "unknown")"])
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

extension APIError {
    static let keyInUse = APIError(
        .conflict, "Another publisher uses this stream key: stop it, or use another key.",
        detail: "another publisher uses the key")

    static let keyChanged = APIError(
        .conflict, "A stream key was changed at this moment: connect again.", detail: "a key was revoked meanwhile")
}
