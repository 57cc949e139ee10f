import Hummingbird
import Logging
import PCastCore
import PCastDatabase
import PCastIO
import PCastRecording
import PCastWeb
import PCastWebRTC
import Tracing

/// The components of a running platform, which are connected to each other.
struct PlatformComponents: Sendable {
    let configuration: PlatformConfiguration
    /// The address that the platform listens on.
    let address: IPAddress
    /// The certificate of the ports with TLS; nil if it is not configured.
    let certificate: CertificateFiles?
    let platformRecords: PlatformRecords
    let router: MediaRouter
    let authenticator: TokenAuthenticator
    /// The issuer of JSON Web Tokens; nil for none.
    let tokenIssuer: TokenIssuer?
    let limiter: RequestLimiter
    /// The applications and limits that the management API has set.
    let administration: PlatformAdministration
    /// Records streams.
    let recordings: RecordingService
    /// Packages streams for HLS.
    let packaging: PackagingService
    /// Makes still images of streams.
    let thumbnails: ThumbnailService
    let directory: StreamDirectory
    let registry: SessionRegistry
    let turnCredentials: TURNCredentialProvider?
    let workers: JobSupervisor
    /// The rooms and channels of which this node is the home.
    let rooms: RoomService
    /// The rooms and channels of all nodes; nil if the platform belongs to no cluster.
    let clusterRooms: ClusterRooms?
    /// The links of other nodes to their members' rooms here; nil if the platform belongs to no cluster.
    let roomLinks: RoomLinkServer?
    /// The timelines of all nodes; nil if the platform belongs to no cluster.
    let clusterTimelines: ClusterTimelines?
    /// The links of other nodes to the timelines of this one; nil if the platform belongs to no cluster.
    let timelineLinks: TimelineLinkServer?
    /// The declared streams.
    let names: NamedStreamService
    /// The streams that viewers of channels' names receive.
    let channels: ChannelStreamService
    /// This platform as a node of a cluster; nil for none.
    let cluster: ClusterService?
    /// The data that this node shares with the others of its cluster; nil for none.
    let persistence: ClusterPersistence?
    /// Pulls streams from other nodes; nil without a secret of the nodes.
    let edges: EdgeService?
    let histories = StreamHistoryStore()
    let credentials: CredentialCheck
    /// The logins of the dashboard and the administration page.
    let dashboard: DashboardAccess
    /// The changes that were requested by the management API.
    let audit: AuditLog
    let timelines: TimelineService
    let clock = SessionClock()
    let metrics: PlatformMetrics
    /// Sends spans to a collector; nil for none.
    let spanExporter: OTLPExporter?
    private let tracer: any Tracer
    /// The server for RTMP publishers.
    let rtmp: RTMPService
    /// The ports for RTMP publishers.
    let rtmpListening: RTMPListening
    /// The server for SRT publishers and viewers.
    let srt: SRTService
    /// The port for SRT publishers; nil if there is none.
    let srtPort: Int?
    private let ingest: IngestService
    private let access: ApplicationAccess
    private let logger: Logger

    /// Opens the database and the media port, and restores the sessions and streams of a platform that was killed.
    ///
    /// - Throws: ``PlatformError``.
    init(
        _ configuration: PlatformConfiguration, authentication: AuthenticationHook?, events: StreamEventHub,
        tracer: (any Tracer)? = nil, logger: Logger
    ) async throws(PlatformError) {
        guard let address = configuration.listenAddress else { throw .invalidHost(configuration.host) }
        self.configuration = configuration
        self.address = address
        self.logger = logger
        let exporter = configuration.otlpEndpoint.map { OTLPExporter(endpoint: $0, logger: logger) }
        spanExporter = exporter
        let tracer = tracer ?? exporter.map { OTLPTracer(exporter: $0) } ?? InstrumentationSystem.tracer
        self.tracer = tracer
        let statistics = PlatformStatistics()
        platformRecords = try await PlatformRecords.open(
            configuration.storage, configuration.applications, statistics, logger, tracer: tracer)
        // The data folder may contain the certificate.
        certificate =
            if configuration.usesCertificate { try CertificateFiles(configuration, logger: logger) } else { nil }
        router = try await Self.openRouter(configuration, address, logger)
        tokenIssuer = configuration.tokenIssuer.map { TokenIssuer($0, logger: logger) }
        try await tokenIssuer?.open()
        authenticator = TokenAuthenticator(
            platformRecords.applications, allowsAnonymousLoopback: configuration.isLoopback, hook: authentication,
            issuer: tokenIssuer)
        limiter = RequestLimiter(
            limits: configuration.limits, trustedProxies: configuration.trustedProxies,
            forwardedHeader: configuration.forwardedHeader)
        do throws(RecordsError) {
            administration = try await PlatformAdministration(
                configuration, applications: platformRecords.applications, records: platformRecords.records,
                authenticator: authenticator, limiter: limiter)
        } catch {
            throw .records("\(error)")
        }
        recordings = try RecordingService(
            configuration.recording, dataDirectory: configuration.storage.directory,
            records: platformRecords.records, writeQueue: platformRecords.writeQueue, logger: logger)
        timelines = TimelineService(
            directory: configuration.storage.directory, consumerTimeout: configuration.consumerTimeout, logger: logger)
        packaging = PackagingService(
            router: router, configuration: configuration.hls, writeQueue: platformRecords.writeQueue,
            recordings: recordings, timelines: timelines,
            windowStorage: Self.windowStorage(configuration, logger), trace: SegmentTrace(tracer), logger: logger)
        thumbnails = ThumbnailService(configuration.hls.thumbnails)
        directory = StreamDirectory(
            router: router, authenticator: authenticator, writeQueue: platformRecords.writeQueue,
            reconnectGrace: TimeSpan(configuration.reconnectGrace),
            reasonTimeout: configuration.reasonTimeout, limiter: limiter, statistics: statistics,
            packaging: packaging,
            renditions: RenditionService(router: router, configuration: configuration.renditions, logger: logger),
            secondCodecStreams: configuration.secondCodec, secondCodecTimeout: configuration.secondCodecTimeout,
            events: events, tracer: tracer, logger: logger)
        registry = SessionRegistry(
            writeQueue: platformRecords.writeQueue, absence: TimeSpan(configuration.sessionTimeout))
        turnCredentials = configuration.tlsPort.map { _ in TURNCredentialProvider(name: configuration.turnHost) }
        workers = JobSupervisor(
            configuration.jobs.map { JobPolicy(configuration: $0, listen: address) }, authenticator: authenticator,
            directory: directory, registry: registry, logger: logger)
        cluster = configuration.cluster.map { [directory, registry] cluster in
            ClusterService(
                cluster, directory: configuration.clusterDirectory, timing: configuration.clusterTiming,
                streams: directory, sessions: registry, capacity: configuration.maximumPeers, logger: logger)
        }
        let homes = cluster.map { RoomHomes(cluster: $0.cluster) }
        rooms = RoomService(
            configuration.rooms, isLoopback: configuration.isLoopback, registry: registry, directory: directory,
            limiter: limiter, records: platformRecords.records, writeQueue: platformRecords.writeQueue,
            isPersistent: configuration.storage.directory != nil, homes: homes, logger: logger)
        names = NamedStreamService(
            configuration.streams, mediaDirectory: configuration.jobs?.directory, router: router, workers: workers,
            slates: configuration.slates.map { SlateService($0) }, directory: directory, authenticator: authenticator,
            events: events, records: platformRecords.records,
            logger: logger)
        channels = ChannelStreamService(router: router, directory: directory, packaging: packaging, logger: logger)
        authenticator.revocations.cluster.value = cluster?.cluster
        directory.otherNodes.value = cluster?.cluster
        var edgeConfiguration = configuration.edges
        if let cluster {
            edgeConfiguration.secret = edgeConfiguration.secret ?? configuration.cluster?.secret
            edgeConfiguration.directory =
                edgeConfiguration.directory
                ?? ClusterOrigins(cluster: cluster.cluster, fixed: FixedOrigins(configuration.edges.origins))
        }
        edges = EdgeService(edgeConfiguration, directory: directory, logger: logger)
        if let homes, let signer = edges?.signer {
            clusterRooms = ClusterRooms(
                local: rooms, homes: homes, directory: directory, registry: registry, signer: signer,
                silence: configuration.roomLinkTimeout, timeout: configuration.roomHomeTimeout, logger: logger)
            roomLinks = RoomLinkServer(
                rooms: rooms, signer: signer, silence: configuration.roomLinkTimeout, logger: logger)
        } else {
            (clusterRooms, roomLinks) = (nil, nil)
        }
        if let cluster, let signer = edges?.signer {
            let nodes = ClusterTimelines(
                service: timelines, cluster: cluster.cluster, signer: signer, silence: configuration.roomLinkTimeout,
                timeout: configuration.timelineHomeTimeout, logger: logger)
            (clusterTimelines, timelines.nodes.value) = (nodes, nodes)
            timelineLinks = TimelineLinkServer(
                timelines: nodes, signer: signer, silence: configuration.roomLinkTimeout)
        } else {
            (clusterTimelines, timelineLinks) = (nil, nil)
        }
        credentials = CredentialCheck(authenticator: authenticator)
        dashboard = DashboardAccess(authenticator: authenticator, credentials: credentials)
        audit = AuditLog(directory: configuration.storage.directory, logger: logger)
        ingest = IngestService(
            directory: directory,
            access: IngestAccess(
                authenticator: authenticator, limiter: limiter, records: platformRecords.records, logger: logger),
            configuration: configuration.rtmp, logger: logger)
        access = ApplicationAccess(
            directory: directory, recordings: recordings, ingest: ingest, names: names, dashboard: dashboard)
        persistence = cluster.map { [platformRecords, administration, ingest, access] cluster in
            ClusterPersistence(
                cluster: cluster.cluster, platformRecords: platformRecords, administration: administration,
                ingest: ingest, access: access, logger: logger)
        }
        cluster?.persistence.value = persistence
        rtmp = RTMPService(ingest: ingest, logger: logger)
        srt = SRTService(
            ingest: ingest,
            viewers: SRTViewers(router: router, audio: configuration.srt.viewerAudio, logger: logger),
            limiter: limiter, logger: logger)
        metrics = PlatformMetrics(
            directory: directory, registry: registry, router: router, platformRecords: platformRecords,
            limiter: limiter, statistics: statistics, authenticator: authenticator, timelines: timelines, rtmp: rtmp,
            srt: srt, spanExporter: exporter, cluster: cluster, edges: edges)
        rtmpListening = try await rtmp.open(
            configuration.rtmp, host: configuration.bindingHost, certificate: certificate?.certificate,
            limiter: limiter)
        cluster?.serves(rtmp, at: rtmpListening)
        srtPort = try await srt.open(configuration.srt, address: address)
        ingest.ports.value = IngestPorts(
            rtmpPort: rtmpListening.port, rtmpsPort: rtmpListening.tlsPort, srtPort: srtPort)
        await restore()
        await recordings.reconcile(interrupted: Set(platformRecords.interrupted.streams.map(\.id)))
        await directory.endsWaiting { [weak workers] id, application, reason, description in
            await workers?.endWaiting(id, of: application, reason: reason, description: description) ?? false
        }
        await directory.setNames(names)
        await directory.setChannels(channels)
        if let edges { await directory.setEdges(edges) }
        do throws(RecordsError) {
            try await names.restore()
        } catch {
            throw .records("\(error)")
        }
        platformRecords.change(configuration.storage, drainTime: TimeSpan(configuration.drainTime))
    }

    /// Returns the storage of rewind windows; nil if they are in memory.
    private static func windowStorage(_ configuration: PlatformConfiguration, _ logger: Logger) -> WindowStorage? {
        guard let directory = configuration.storage.directory, !configuration.hls.keepsWindowInMemory else {
            return nil
        }
        do throws(RecordingError) {
            return try WindowStorage(folder: directory + "/rewind", reserve: configuration.recording.reserve) { event in
                switch event {
                case .failed(let error):
                    logger.error("rewind windows are kept in memory, and are shorter: \(error.cause)")
                case .recovered: logger.notice("rewind windows are stored on the disk again")
                }
            }
        } catch {
            logger.error("rewind windows are kept in memory, and are shorter: \(error.cause)")
            return nil
        }
    }

    /// Revokes the tokens again that were revoked before the platform stopped, also at the other nodes of a cluster.
    private func restoreRevocations() async {
        let now = MonotonicClock.wallTime()
        do throws(RecordsError) {
            for (key, expires) in try await platformRecords.records.tokenRevocations(at: now) {
                guard !authenticator.revocations.revoke(key, for: expires - now) else { continue }
                logger.error("revoked tokens are accepted again, because there are too many: change secrets")
                return
            }
        } catch {
            logger.error("revoked tokens could not be read, and are accepted again", metadata: ["error": "\(error)"])
        }
    }

    /// Restores the sessions and streams of a platform that was killed, whose clients may reconnect.
    private func restore() async {
        let now = MonotonicClock.now()
        await restoreRevocations()
        await registry.restore(
            (try? await platformRecords.records.openSessions(limit: SessionRegistry.restored)) ?? [],
            interrupted: platformRecords.interrupted.bySession, at: now)
        await directory.restore(platformRecords.interrupted, at: now) { end, session in
            await registry.ended(end, in: session)
            await roomRequests.streamEnded(end.streamID, of: session)
        }
        await rooms.restore()
    }

    /// Advances the clock of the sessions, and ends sessions and streams whose clients do not reconnect in time, until
    /// the task is cancelled. It also returns unused heap memory to the system after many clients or handshakes have
    /// ended.
    func endAbsent() async {
        var heapTrim = HeapTrimPolicy()
        // Without sessions, nothing pending is urgent.
        while (try? await Task.sleep(for: clock.isIdle ? .seconds(1) : .milliseconds(250))) != nil {
            let now = MonotonicClock.now()
            await clock.advance(to: now)
            for expired in await registry.endAbsent(at: now) {
                for stream in expired.streams { await directory.end(stream, reason: .failed, description: "") }
            }
            await directory.endAbsent(at: now)
            await rooms.advance(to: now)
            let counts = await directory.counts
            let clientCount = await registry.counts.all + counts.streams + counts.viewers
            if heapTrim.isTime(with: clientCount, at: now) { MallocTuning.trim() }
        }
    }

    private static func openRouter(
        _ configuration: PlatformConfiguration, _ address: IPAddress, _ logger: Logger
    ) async throws(PlatformError) -> MediaRouter {
        let discovered = await AddressDiscovery.run(
            servers: configuration.stunServers, port: configuration.rtcPort, family: address.family)
        if discovered.isEmpty, !configuration.stunServers.isEmpty {
            logger.warning("no STUN server reported the public address: set it with --advertise")
        }
        do {
            let certificate = try DTLSCertificate.generate(at: MonotonicClock.wallTime())
            let router = try MediaRouter(
                listen: mediaAddresses(address, port: configuration.rtcPort),
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

    // MARK: HTTP

    static let webSocketPath = "/ws"

    /// The answers to requests of clients for rooms.
    var roomRequests: any RoomRequests { clusterRooms ?? rooms }

    /// Whether a path other than ``webSocketPath`` is that of a WebSocket.
    func opensWebSocket(at path: String) -> Bool {
        TimelineFeed.isOpen(at: path) || roomLinks != nil && RoomLinkServer.isOpen(at: path)
            || timelineLinks != nil && TimelineLinkServer.isOpen(at: path)
    }

    /// Returns the function that runs for the duration of a WebSocket.
    func webSocketHandler() -> @Sendable (WebSocketConnection) async throws -> Void {
        let timeouts = configuration.signalingTimeouts
        let feed = TimelineFeed(
            service: timelines, access: TimelineAccess(authenticator: authenticator, credentials: credentials),
            limiter: limiter, logger: logger)
        return { connection in
            let path = connection.request.map { String($0.uri.prefix { $0 != "?" }) } ?? Self.webSocketPath
            if let roomLinks, RoomLinkServer.isOpen(at: path) { return try await roomLinks.run(connection) }
            if let timelineLinks, TimelineLinkServer.isOpen(at: path) {
                return try await timelineLinks.run(connection)
            }
            guard path == Self.webSocketPath else { return try await feed.run(connection) }
            guard let reservation = await limiter.reserve(for: connection) else { return }
            await SignalingSession(
                connection, authenticator: authenticator, directory: directory, registry: registry, workers: workers,
                rooms: roomRequests, turnCredentials: turnCredentials, limiter: limiter, cluster: cluster, clock: clock,
                timeouts: timeouts, logger: logger
            ).run()
            withExtendedLifetime(reservation) {}
        }
    }

    /// Returns the certificate and the TURN server of TLS; nil if TLS is not configured.
    func security() -> WebServer.Security? {
        guard let turnCredentials, let certificate else { return nil }
        let service = TURNService(
            advertised: router.advertised, listen: address, rtcPort: router.rtcPort, secret: turnCredentials.secret,
            clock: MonotonicClock.reference())
        return WebServer.Security(
            certificate.certificate, tunnels: TunnelServer(service, clock: { MonotonicClock.now() }))
    }

    /// Returns the routes of packaged streams, of which the platform's own servers send most responses directly.
    func videoRoutes() -> VideoRoutes {
        VideoRoutes(
            packaging: packaging, directory: directory, authenticator: authenticator, limiter: limiter, logger: logger,
            thumbnails: thumbnails, video: edges?.video)
    }

    /// Returns the router of all HTTP routes.
    func routes() -> Router<WebRequestContext> {
        let routes = Router(context: WebRequestContext.self, options: .autoGenerateHeadEndpoints)
        routes.add(middleware: AccessLogMiddleware(logger: logger))
        routes.add(middleware: HeadRequestMiddleware())
        routes.add(middleware: CrossOriginMiddleware())
        routes.add(middleware: RequestLimitMiddleware(limiter: limiter, logger: logger))
        routes.add(middleware: UnknownAddressMiddleware())
        for kind in [WebRTCHTTPController.Kind.whip, .whep] {
            WebRTCHTTPController(
                kind, authenticator: authenticator, directory: directory, turnCredentials: turnCredentials,
                dashboard: dashboard, cluster: cluster, tracer: tracer,
                logger: logger
            ).addRoutes(to: routes)
        }
        videoRoutes().addRoutes(to: routes)
        RecordingRoutes(
            recordings: recordings, records: platformRecords.records, authenticator: authenticator, limiter: limiter,
            logger: logger
        ).addRoutes(to: routes)
        StaticPages(frameAncestors: configuration.frameAncestors).addRoutes(to: routes)
        if let webroot = configuration.acmeWebroot {
            ACMEChallengeRoutes(webroot: webroot).addRoutes(to: routes)
        }
        HealthRoutes(
            metrics: metrics, limiter: limiter, attempts: credentials, metricsToken: configuration.metricsToken,
            cache: MetricsCache(lifetime: TimeSpan(configuration.metricsCacheTime))
        ).addRoutes(to: routes)
        TimelineRoutes(
            service: timelines, access: TimelineAccess(authenticator: authenticator, credentials: credentials),
            logger: logger
        ).addRoutes(to: routes)
        DashboardRoutes(
            access: dashboard, turnCredentials: turnCredentials, logger: logger, hasNodes: cluster != nil,
            administration: administration
        ).addRoutes(to: routes)
        TelemetryRoutes().addRoutes(to: routes)
        ClusterRoutes(
            service: cluster, directory: directory, dashboard: dashboard, administration: administration, audit: audit
        ).addRoutes(to: routes)
        if let edges {
            NodeRoutes(edges: edges, directory: directory, thumbnails: thumbnails, logger: logger)
                .addRoutes(to: routes)
        }
        ManagementAPI(
            access: access, authenticator: authenticator, credentials: credentials, directory: directory,
            sessions: registry, platformRecords: platformRecords, recordings: recordings, ingest: ingest,
            names: names, rooms: rooms, histories: histories, dashboard: dashboard,
            turnCredentials: turnCredentials, cluster: cluster, persistence: persistence,
            audit: audit, administration: administration, limiter: limiter, logger: logger
        ).addRoutes(to: routes)
        return routes
    }

    /// Returns the addresses of the platform with the ports of its HTTP servers.
    func listening(port: Int, tlsPort: Int?) -> PlatformListening {
        var host = configuration.host
        if let address = configuration.listenAddress, address.isUnspecified {
            host = (configuration.advertise.first ?? router.advertised.first?.ip ?? .loopbackV4).description
        }
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return PlatformListening(
            uri: "http://\(name):\(port)", rtcPort: router.rtcPort, advertised: router.advertised,
            tlsPort: tlsPort, tlsFingerprint: certificate?.selfSignedFingerprint, rtmp: rtmpListening,
            srtPort: srtPort, allowsAnonymousLoopback: configuration.isLoopback,
            applications: platformRecords.applications)
    }
}
