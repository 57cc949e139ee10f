import Hummingbird
public import Logging
public import PCastCore
import PCastDatabase
import PCastIO
import PCastWeb
import PCastWebRTC

/// The server: signaling endpoints for publishers and subscribers, the SFU, the management API and the web pages.
public struct Platform: Sendable {
    private let configuration: PlatformConfiguration
    private let logger: Logger
    private let control: PlatformControl

    /// Creates a platform, which does not listen before ``run(onListening:)``.
    public init(_ configuration: PlatformConfiguration, logger: Logger = Logger(label: "pcast.platform")) {
        self.configuration = configuration
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

    /// Serves until the task is cancelled. Then it ends all streams and notifies the clients. `onListening` is called
    /// once when all ports are open.
    ///
    /// - Throws: ``PlatformError``.
    public func run(onListening: @escaping @Sendable (PlatformListening) async -> Void) async throws {
        guard let address = configuration.listenAddress else { throw PlatformError.invalidHost(configuration.host) }
        let configuration = configuration
        let certificate = try configuration.tlsPort.map { _ in try CertificateFiles(configuration, logger: logger) }
        let statistics = PlatformStatistics()
        let platformRecords = try await PlatformRecords.open(
            configuration.records, configuration.applications, statistics, logger)
        let router = try await openRouter(address)
        let authenticator = TokenAuthenticator(
            platformRecords.applications, allowsAnonymousLoopback: configuration.isLoopback)
        let limiter = RequestLimiter(
            limits: configuration.limits, trustedProxies: configuration.trustedProxies,
            forwardedHeader: configuration.forwardedHeader)
        let directory = StreamDirectory(
            router: router, authenticator: authenticator, writeQueue: platformRecords.writeQueue,
            reconnectGrace: TimeSpan(configuration.reconnectGrace),
            reasonTimeout: configuration.reasonTimeout, limiter: limiter, statistics: statistics, logger: logger)
        let registry = SessionRegistry(
            writeQueue: platformRecords.writeQueue, absence: TimeSpan(configuration.sessionTimeout))
        await restore(platformRecords, registry, directory)
        let turnCredentials = configuration.tlsPort.map { _ in TURNCredentialProvider(name: configuration.turnHost) }
        let workers = JobSupervisor(
            configuration.workers.map { JobPolicy(configuration: $0, listen: address) }, authenticator: authenticator,
            directory: directory, registry: registry, logger: logger)
        await directory.endsWaiting { [weak workers] id, application, reason, description in
            await workers?.endWaiting(id, of: application, reason: reason, description: description) ?? false
        }
        let histories = StreamHistoryStore()
        let credentials = CredentialCheck(authenticator: authenticator)
        let timelines = TimelineService(
            directory: configuration.records.directory, consumerTimeout: configuration.consumerTimeout, logger: logger)
        let feed = TimelineFeed(
            service: timelines, access: TimelineAccess(authenticator: authenticator, credentials: credentials),
            limiter: limiter, logger: logger)
        let routes = routes(
            router, authenticator, directory, registry, turnCredentials, platformRecords, limiter, histories,
            statistics,
            timelines,
            credentials)
        let clock = SessionClock()
        let webSocketHandler = webSocketHandler(
            authenticator, directory, registry, workers, turnCredentials, limiter, clock, feed)
        let secure = secureServer(routes, router, address, turnCredentials, limiter, certificate, webSocketHandler)
        var opened: TLSListener?
        if let secure {
            do {
                opened = try await TLSListener.begin(secure)
            } catch {
                router.stop()
                throw error
            }
        }
        let tls = opened
        if let tls { turnCredentials?.listens(at: tls.port) }
        defer { tls?.stop() }
        let server = WebServer(
            binding: .init(host: configuration.bindingHost, port: configuration.port),
            gate: PlatformConnectionFilter(limiter: limiter), router: routes, webSocketPath: Self.webSocketPath,
            opensWebSocket: TimelineFeed.isOpen, logger: logger, webSocket: webSocketHandler)
        let onOpen: @Sendable (Int) async -> Void = { port in
            await workers.listens(at: configuration.uriForWorkers(port: port))
            await onListening(
                Self.listening(
                    configuration, platformRecords.applications, port: port, tlsPort: tls?.port, router: router))
        }
        // These are separate tasks, because they must end in a certain order, unlike the tasks of a cancelled group.
        platformRecords.change(configuration.records, drainTime: TimeSpan(configuration.drainTime))
        await control.begin(
            .init(
                authenticator: authenticator, limiter: limiter, platformRecords: platformRecords,
                turnCredentials: turnCredentials,
                certificate: certificate,
                directory: directory, workers: workers, listen: address))
        let watching = Task { await certificate?.watch() }
        defer { watching.cancel() }
        let recordsTask = Task { await platformRecords.run(of: directory) }
        let interfaces = Task { [logger] in
            await router.followInterfaces { addresses in
                logger.info("the addresses of ICE candidates changed", metadata: ["addresses": "\(addresses)"])
            }
        }
        defer { interfaces.cancel() }
        let history = Task { await histories.run(of: router) }
        defer { history.cancel() }
        let maintenance = Task { await timelines.run() }
        defer { maintenance.cancel() }
        let eventTask = Task { await directory.follow(router.events) }
        let absenceTask = Task { await Self.endAbsent(registry, directory, clock) }
        let serving = Task { try await server.run(onListening: onOpen) }
        let result = await withTaskCancellationHandler {
            await serving.result
        } onCancel: {
            Task {
                limiter.drain()
                await directory.endAll(reason: .maintenance)
                await workers.stop(reason: .maintenance)
                router.stop()
                await eventTask.value
                platformRecords.finish()
                await recordsTask.value
                tls?.stop()
                serving.cancel()
            }
        }
        absenceTask.cancel()
        await absenceTask.value
        await workers.stop(reason: .failed)
        router.stop()
        await eventTask.value
        platformRecords.finish()
        await recordsTask.value
        do {
            try result.get()
        } catch let error as WebError {
            throw PlatformError.addressInUse("\(error)", .listen)
        }
    }

    /// Restores the sessions and streams of a platform that was killed, whose clients may reconnect.
    private func restore(
        _ platformRecords: PlatformRecords, _ registry: SessionRegistry, _ directory: StreamDirectory
    ) async {
        let now = MonotonicClock.now()
        await registry.restore(
            (try? await platformRecords.records.openSessions(limit: SessionRegistry.restored)) ?? [],
            interrupted: platformRecords.interrupted.bySession, at: now)
        await directory.restore(platformRecords.interrupted, at: now) { end, session in
            await registry.ended(end, in: session)
        }
    }

    /// Advances the clock of the sessions, and ends sessions and streams whose clients do not reconnect in time, until
    /// the task is cancelled. It also returns unused heap memory to the system after many clients or handshakes have
    /// ended.
    private static func endAbsent(
        _ registry: SessionRegistry, _ directory: StreamDirectory, _ clock: SessionClock
    ) async {
        var heapTrim = HeapTrimPolicy()
        // Without sessions, nothing pending is urgent.
        while (try? await Task.sleep(for: clock.isIdle ? .seconds(1) : .milliseconds(250))) != nil {
            let now = MonotonicClock.now()
            await clock.advance(to: now)
            for expired in await registry.endAbsent(at: now) {
                for stream in expired.streams { await directory.end(stream, reason: .failed, description: "") }
            }
            await directory.endAbsent(at: now)
            let counts = await directory.counts
            let clientCount = await registry.counts.all + counts.streams + counts.viewers
            if heapTrim.isTime(with: clientCount, at: now) { MallocTuning.trim() }
        }
    }

    private func openRouter(_ address: IPAddress) async throws(PlatformError) -> MediaRouter {
        let discovered = await AddressDiscovery.run(
            servers: configuration.stunServers, port: configuration.rtcPort, family: address.family)
        if discovered.isEmpty, !configuration.stunServers.isEmpty {
            logger.warning("no STUN server reported the public address: set it with --advertise")
        }
        do {
            let certificate = try DTLSCertificate.generate(at: MonotonicClock.wallTime())
            let router = try MediaRouter(
                listen: Self.mediaAddresses(address, port: configuration.rtcPort),
                addresses: AdvertisedAddresses(
                    named: configuration.advertise, discovered: discovered, listen: address),
                certificate: certificate, maximumPeers: configuration.maximumPeers, shards: configuration.shards,
                setupTimeout: configuration.setupTimeout)
            for warning in router.localOnlyWarnings { logger.warning("\(warning)") }
            return router
        } catch {
            throw .media("\(error)")
        }
    }

    /// Returns the media addresses. All IPv4 addresses include all IPv6 addresses if this host has any.
    private static func mediaAddresses(_ listen: IPAddress, port: UInt16) -> [TransportAddress] {
        let own = TransportAddress(ip: listen, port: port)
        let hasV6 = ((try? LocalAddress.all()) ?? []).contains { $0.ip.family == .v6 }
        guard listen == .anyV4, hasV6 else { return [own] }
        return [own, TransportAddress(ip: IPAddress(v6: 0, 0), port: port)]
    }

    private static let webSocketPath = "/ws"

    private func webSocketHandler(
        _ authenticator: TokenAuthenticator, _ directory: StreamDirectory, _ registry: SessionRegistry,
        _ workers: JobSupervisor, _ turnCredentials: TURNCredentialProvider?, _ limiter: RequestLimiter,
        _ clock: SessionClock,
        _ feed: TimelineFeed
    ) -> @Sendable (WebSocketConnection) async throws -> Void {
        let (logger, timeouts) = (logger, configuration.signalingTimeouts)
        return { connection in
            let path = connection.request.map { String($0.uri.prefix { $0 != "?" }) } ?? Self.webSocketPath
            guard path == Self.webSocketPath else { return try await feed.run(connection) }
            guard let reservation = await limiter.reserve(for: connection) else { return }
            await SignalingSession(
                connection, authenticator: authenticator, directory: directory, registry: registry, workers: workers,
                turnCredentials: turnCredentials, limiter: limiter, clock: clock, timeouts: timeouts, logger: logger
            ).run()
            withExtendedLifetime(reservation) {}
        }
    }

    /// Returns the server of the TLS port; nil if there is none.
    private func secureServer(
        _ routes: Router<WebRequestContext>, _ router: MediaRouter, _ address: IPAddress,
        _ turnCredentials: TURNCredentialProvider?,
        _ limiter: RequestLimiter, _ certificate: CertificateFiles?,
        _ webSocketHandler: @escaping @Sendable (WebSocketConnection) async throws -> Void
    ) -> WebServer? {
        guard let port = configuration.tlsPort, let turnCredentials, let certificate else { return nil }
        let service = TURNService(
            advertised: router.advertised, listen: address, rtcPort: router.rtcPort, secret: turnCredentials.secret,
            clock: MonotonicClock.reference())
        return WebServer(
            binding: .init(host: configuration.bindingHost, port: port),
            security: .init(
                certificate.certificate, tunnels: TunnelServer(service, clock: { MonotonicClock.now() })),
            gate: PlatformConnectionFilter(limiter: limiter), router: routes, webSocketPath: Self.webSocketPath,
            opensWebSocket: TimelineFeed.isOpen, logger: logger, webSocket: webSocketHandler)
    }

    private func routes(
        _ router: MediaRouter, _ authenticator: TokenAuthenticator, _ directory: StreamDirectory,
        _ registry: SessionRegistry,
        _ turnCredentials: TURNCredentialProvider?, _ platformRecords: PlatformRecords, _ limiter: RequestLimiter,
        _ histories: StreamHistoryStore,
        _ statistics: PlatformStatistics, _ timelines: TimelineService, _ credentials: CredentialCheck
    ) -> Router<WebRequestContext> {
        let routes = Router(context: WebRequestContext.self, options: .autoGenerateHeadEndpoints)
        routes.add(middleware: AccessLogMiddleware(logger: logger))
        routes.add(middleware: HeadRequestMiddleware())
        routes.add(middleware: CrossOriginMiddleware())
        routes.add(middleware: RequestLimitMiddleware(limiter: limiter, logger: logger))
        let dashboard = DashboardAccess(authenticator: authenticator, credentials: credentials)
        for kind in [WebRTCHTTPController.Kind.whip, .whep] {
            WebRTCHTTPController(
                kind, authenticator: authenticator, directory: directory, turnCredentials: turnCredentials,
                dashboard: dashboard,
                logger: logger
            ).addRoutes(to: routes)
        }
        StaticPages(frameAncestors: configuration.frameAncestors).addRoutes(to: routes)
        HealthRoutes(
            directory: directory, registry: registry, router: router, platformRecords: platformRecords,
            limiter: limiter,
            statistics: statistics, authenticator: authenticator, timelines: timelines, attempts: credentials,
            metricsToken: configuration.metricsToken,
            cache: MetricsCache(lifetime: TimeSpan(configuration.metricsCacheTime))
        ).addRoutes(to: routes)
        TimelineRoutes(
            service: timelines, access: TimelineAccess(authenticator: authenticator, credentials: credentials),
            logger: logger
        ).addRoutes(to: routes)
        DashboardRoutes(access: dashboard, turnCredentials: turnCredentials, logger: logger).addRoutes(to: routes)
        TelemetryRoutes().addRoutes(to: routes)
        ManagementAPI(
            authenticator: authenticator, credentials: credentials, directory: directory,
            platformRecords: platformRecords,
            histories: histories,
            dashboard: dashboard,
            turnCredentials: turnCredentials, logger: logger
        ).addRoutes(to: routes)
        return routes
    }

    private static func listening(
        _ configuration: PlatformConfiguration, _ applications: [PlatformConfiguration.Application], port: Int,
        tlsPort: Int?, router: MediaRouter
    ) -> PlatformListening {
        var host = configuration.host
        if let address = configuration.listenAddress, address.isUnspecified {
            host = (configuration.advertise.first ?? router.advertised.first?.ip ?? .loopbackV4).description
        }
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return PlatformListening(
            uri: "http://\(name):\(port)", rtcPort: router.rtcPort, advertised: router.advertised,
            tlsPort: tlsPort, allowsAnonymousLoopback: configuration.isLoopback, applications: applications)
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
    /// Whether programs of this host may publish and subscribe without a token.
    public let allowsAnonymousLoopback: Bool
    /// The applications whose tokens are valid.
    public let applications: [PlatformConfiguration.Application]
}
