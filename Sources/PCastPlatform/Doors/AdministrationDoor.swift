import Hummingbird
import PCastIO
import PCastMedia
import PCastRelay
import PCastWeb

/// The endpoints for operators: health and metrics.
struct AdministrationDoor: Sendable {
    let directory: StreamDirectory
    let registry: SessionRegistry
    let router: MediaRouter
    let kept: PlatformRecords
    let admission: Admission
    let statistics: PlatformStatistics
    let gatekeeper: Gatekeeper
    let timelines: TimelineService
    let attempts: CredentialCheck
    /// The token for other hosts; nil if metrics are for this host only.
    let metricsToken: String?
    let cache: MetricsCache

    func addRoutes(to router: Router<WebRequestContext>) {
        router.get("/healthz") { _, _ in
            admission.isDraining
                ? DoorResponse.json(.serviceUnavailable, #"{"status":"draining"}"#)
                : DoorResponse.json(.ok, #"{"status":"ok"}"#)
        }
        router.get("/metrics") { request, context in await answer(request, context) }
    }

    private func answer(_ request: Request, _ context: WebRequestContext) async -> Response {
        do throws(Refusal) {
            let visitor = request.visitor(context)
            try admission.takeMetrics(from: visitor.address, at: MonotonicClock.now())
            try authorize(request, visitor)
        } catch {
            return DoorResponse.refusal(error)
        }
        let text = await cache.text { await metrics() }
        return DoorResponse.text(.ok, text, [.contentType: "text/plain; version=0.0.4; charset=utf-8"])
    }

    /// Checks the access to metrics, because they contain the names of applications and streams. Clients of this host
    /// and those with the token may read them. The token may also be the password of HTTP Basic, which many scrapers
    /// support.
    private func authorize(_ request: Request, _ visitor: Visitor) throws(Refusal) {
        if visitor.isOnThisMachine { return }
        guard let metricsToken else {
            throw Refusal(
                .unauthorized, "Metrics are for this machine: the platform's operator may set metrics-token for others."
            )
        }
        let basic = request.headers[.authorization].flatMap { ApplicationRequest.basic($0)?.secret }
        guard let given = basic ?? request.bearer else {
            throw Refusal(
                .unauthorized, "Metrics need the token of metrics-token: send it as “Authorization: Bearer …”.")
        }
        try attempts.check(from: visitor.address) { CredentialCheck.isSame(given, metricsToken) }
    }

    /// Returns the metrics in Prometheus' text format.
    private func metrics() async -> String {
        let counts = await directory.counts
        let owners = await directory.owners
        let forwarded = await router.packetsForwarded()
        let streams = await router.figures().compactMap { figures in
            owners[figures.stream].map { MetricsText.StreamSource(figures: figures, application: $0) }
        }
        var metrics = MetricsText()
        metrics.add("pcast_streams", .gauge, "Streams being published.", counts.streams)
        metrics.add(
            "pcast_streams_awaited", .gauge, "Streams whose publisher is to come back.",
            await directory.awaited.streams.count)
        metrics.add("pcast_viewers", .gauge, "Viewers of all streams.", counts.viewers)
        let sessions = await registry.counts
        metrics.add("pcast_sessions", .gauge, "Sessions of clients.", sessions.all)
        metrics.add("pcast_sessions_absent", .gauge, "Sessions whose client has no connection.", sessions.absent)
        metrics.add("pcast_packets_forwarded_total", .counter, "Media packets sent to viewers.", forwarded)
        metrics.add(
            "pcast_shard_peers", .gauge, "Publishers and viewers of each shard of the relay.",
            router.peersOfShards.enumerated().map { ([("shard", "\($0.offset)")], "\($0.element)") })
        metrics.add(
            "pcast_parcels_lost_total", .counter, "What shards could not hand over to each other.",
            await router.parcelsLost())
        metrics.add(
            statistics.figures, applications: gatekeeper.applicationIDs,
            present: await directory.countsOfApplications)
        metrics.add(admission.counts)
        metrics.add(kept.journal.counts)
        metrics.add(await kept.courier.counts)
        metrics.add(await timelines.counts)
        metrics.add(streams)
        if let process = ProcessFigures.read() { metrics.add(process) }
        return metrics.text
    }
}
