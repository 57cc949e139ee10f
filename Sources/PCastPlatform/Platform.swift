public import CoreMetrics
import Hummingbird
public import Logging
public import PCastCore
import PCastWeb
public import ServiceLifecycle
public import Tracing

/// The server: signaling endpoints for publishers and subscribers, the SFU, the management API and the web pages.
///
/// It is a service: a program runs it alone with ``run(onListening:)``, or in a `ServiceGroup` beside its own services.
/// It listens on the port of its configuration, unless ``addRoutes(to:_:)`` mounts it in the program's own router.
public struct Platform: Service, Sendable {
    private let configuration: PlatformConfiguration
    private let logger: Logger
    private let control: PlatformControl
    private let authentication: AuthenticationHook?
    private let metricsFactory: (any MetricsFactory)?
    private let tracer: (any Tracer)?
    private let eventHub = StreamEventHub()
    let host = HostApplication()

    /// Creates a platform, which does not listen before it runs.
    ///
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - authentication: The host's own decision about clients; nil if EdgeAuth decides alone.
    ///   - metrics: The metrics system that receives the metrics once per second; nil for that of `MetricsSystem`.
    ///   - tracer: The tracer that receives spans of joins and webhooks; nil for the exporter of
    ///     ``PlatformConfiguration/otlpEndpoint``, or else for that of `InstrumentationSystem`.
    ///   - logger: The logger.
    public init(
        _ configuration: PlatformConfiguration, authentication: AuthenticationHook? = nil,
        metrics: (any MetricsFactory)? = nil, tracer: (any Tracer)? = nil,
        logger: Logger = Logger(label: "pcast.platform")
    ) {
        self.configuration = configuration
        self.authentication = authentication
        metricsFactory = metrics
        self.tracer = tracer
        // Text of clients occurs in log lines. It must not end them or control a terminal.
        self.logger = EscapingLogHandler.logger(logger)
        control = PlatformControl(configuration)
    }

    /// Applies another configuration to the running platform without disconnecting anybody. Returns which settings
    /// changed and which need a restart. If a setting is invalid, nothing changes.
    ///
    /// - Throws: ``PlatformError``.
    public func apply(_ configuration: PlatformConfiguration) async throws(PlatformError) -> PlatformChanges {
        try await control.apply(configuration)
    }

    /// Whether all media threads and the directories of streams and sessions respond, or the platform does not run. It
    /// waits for those that do not respond. A thread whose queue is full counts as one that does not respond. A watchdog
    /// queries it.
    package var isResponsive: Bool {
        get async {
            guard let components = host.components.value else { return true }
            _ = await components.directory.counts
            _ = await components.registry.counts
            return await components.router.isResponsive
        }
    }

    // MARK: Streams

    /// Returns the changes of streams from now on, until the platform stops. Each call returns its own sequence. A reader
    /// that is more than 1,024 events late misses the oldest ones.
    public func events() -> AsyncStream<StreamEvent> { eventHub.events() }

    /// Returns the streams that viewers can subscribe to, oldest first; empty if the platform does not run.
    public func streams() async -> [PlatformStream] {
        await host.components.value?.directory.platformStreams ?? []
    }

    /// Ends a stream for its publisher and all viewers, or one viewing. The reason is in the database when this function
    /// returns.
    ///
    /// - Parameters:
    ///   - id: The stream or viewing.
    ///   - reason: The reason that the clients receive.
    ///   - description: The text of a custom reason. Characters beyond 120 are left out.
    /// - Returns: False if there is no such stream, or the platform does not run.
    @discardableResult
    public func end(
        _ id: StreamID, reason: StreamEndedReason = .ended, description: String = ""
    ) async -> Bool {
        guard let components = host.components.value else { return false }
        let text = String(String.UnicodeScalarView(description.unicodeScalars.prefix(ClientTextLimits.reason)))
        return await components.directory.end(id, reason: reason, description: text)
    }

    // MARK: Running

    /// Serves until a graceful shutdown, or until the task is cancelled. Then it ends all streams and notifies the
    /// clients.
    ///
    /// In a `ServiceGroup` with the application on whose router it is mounted, the platform is after the application:
    /// services stop in reverse order, and the clients receive the end of their streams through the application.
    ///
    /// - Throws: ``PlatformError``.
    public func run() async throws { try await run { _ in } }

    /// Serves until a graceful shutdown, or until the task is cancelled. Then it ends all streams and notifies the
    /// clients. `onListening` is called once when all ports are open, those of a host's application included.
    ///
    /// - Throws: ``PlatformError``.
    public func run(onListening: @escaping @Sendable (PlatformListening) async -> Void) async throws {
        let components = try await PlatformComponents(
            configuration, authentication: authentication, events: eventHub, tracer: tracer, logger: logger)
        await control.begin(components)
        let isMounted = host.isMounted.value
        host.components.value = components
        host.parts.value = isMounted ? HostApplication.Parts(components) : nil
        defer {
            host.components.value = nil
            host.parts.value = nil
            eventHub.finish()
            components.platformRecords.release()
        }
        let servers: any Service =
            isMounted
            ? HostedServers(components: components, host: host, onListening: onListening)
            : PlatformServers(components: components, onListening: onListening, logger: logger)
        let group = ServiceGroup(
            configuration: .init(services: services(components, servers), logger: logger))
        // The services run in their own task, because its cancellation would not let them end in their order.
        let serving = Task { try await group.run() }
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await serving.value
        } onCancelOrGracefulShutdown: {
            Task { await group.triggerGracefulShutdown() }
        }
    }

    /// Returns the services in the order of their start. They stop in reverse order.
    private func services(_ components: PlatformComponents, _ servers: any Service) -> [any Service] {
        let reporter = MetricsReporter(metrics: components.metrics, factory: metricsFactory)
        let histories = BackgroundService("histories") { await components.histories.run(of: components.router) }
        let timelines = BackgroundService("timelines") { await components.timelines.run() }
        let absence = BackgroundService("absence") { await components.endAbsent() }
        let interfaces = BackgroundService("interfaces") { [logger] in
            await components.router.followInterfaces { addresses in
                logger.info("the addresses of ICE candidates changed", metadata: ["addresses": "\(addresses)"])
            }
        }
        let publicAddress = BackgroundService("public address") { [configuration, logger] in
            await components.router.followPublicAddress(
                configuration.stunServers, family: components.address.family,
                every: TimeSpan(configuration.stunInterval)
            ) { addresses in
                logger.notice(
                    "the public address changed; new clients receive the new one",
                    metadata: ["addresses": "\(addresses)"])
            }
        }
        let spans = BackgroundService("spans") { await components.spanExporter?.run() }
        let keys = BackgroundService("keys of tokens") { await components.tokenIssuer?.run() }
        let certificate = BackgroundService("certificate") { await components.certificate?.watch() }
        let packaging = BackgroundService("packaging") { await components.packaging.run() }
        let recordings = BackgroundService("recordings") { await components.recordings.run() }
        let names = BackgroundService("named streams") { await components.names.run() }
        let channels = BackgroundService("streams of channels") { await components.channels.run() }
        let renditions = BackgroundService("renditions") { await components.directory.renditions?.run() }
        let clusterRooms = BackgroundService("rooms of the cluster") { await components.clusterRooms?.run() }
        let clusterTimelines = BackgroundService("timelines of the cluster") {
            await components.clusterTimelines?.run()
        }
        let cluster = BackgroundService("cluster") { await components.cluster?.run() }
        // It stops before the cluster, and after the last notifications were delivered.
        let persistence = BackgroundService("data of the cluster") { await components.persistence?.run() }
        let media = MediaService(components: components)
        return [
            spans, BackgroundService("metrics") { await reporter.run() }, histories, timelines, absence, interfaces,
            publicAddress, keys, certificate, names, channels, cluster, clusterRooms, clusterTimelines, persistence,
            servers,
            RecordsService(components: components, media: media),
            media,
            packaging,
            recordings, renditions, components.rtmp, components.srt, DrainService(components: components),
        ]
    }
}

/// The addresses of a running platform.
public struct PlatformListening: Sendable {
    /// The URI, such as `http://127.0.0.1:8080`.
    public let uri: String
    /// The port for media.
    public let rtcPort: UInt16
    /// The addresses in candidates.
    public let advertised: [TransportAddress]
    /// The port for TLS; nil if there is none.
    public let tlsPort: Int?
    /// The SHA-256 fingerprint of the self-signed certificate that is kept in the data folder; nil for another certificate.
    public var tlsFingerprint: String?
    /// The ports for RTMP publishers.
    public var rtmp = RTMPListening(port: nil, tlsPort: nil)
    /// The port for SRT publishers; nil if there is none.
    public var srtPort: Int?
    /// Whether programs of this host may publish and subscribe without a token.
    public let allowsAnonymousLoopback: Bool
    /// The applications whose tokens are valid.
    public let applications: [PlatformConfiguration.Application]
}
