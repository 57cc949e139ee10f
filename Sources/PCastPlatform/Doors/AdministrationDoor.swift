import Hummingbird
import PCastMedia
import PCastRelay
import PCastWeb

/// What an operator asks: health and figures.
struct AdministrationDoor: Sendable {
    let directory: StreamDirectory
    let registry: SessionRegistry
    let router: MediaRouter
    let kept: PlatformRecords
    let admission: Admission
    let statistics: PlatformStatistics
    let gatekeeper: Gatekeeper
    let timelines: TimelineService

    func addRoutes(to router: Router<WebRequestContext>) {
        router.get("/healthz") { _, _ in
            admission.isDraining
                ? DoorResponse.json(.serviceUnavailable, #"{"status":"draining"}"#)
                : DoorResponse.json(.ok, #"{"status":"ok"}"#)
        }
        router.get("/metrics") { _, _ in await metrics() }
    }

    /// In Prometheus' text format.
    private func metrics() async -> Response {
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
        return DoorResponse.text(.ok, metrics.text, [.contentType: "text/plain; version=0.0.4; charset=utf-8"])
    }
}
