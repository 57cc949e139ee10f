import Hummingbird
import PCastWeb

/// What an operator asks: health and figures.
struct AdministrationDoor: Sendable {
    let directory: StreamDirectory
    let router: MediaRouter
    let kept: PlatformRecords
    let admission: Admission

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
        let forwarded = await router.packetsForwarded()
        var metrics = MetricsText()
        metrics.add("pcast_streams", .gauge, "Streams being published.", counts.streams)
        metrics.add("pcast_viewers", .gauge, "Viewers of all streams.", counts.viewers)
        metrics.add("pcast_packets_forwarded_total", .counter, "Media packets sent to viewers.", forwarded)
        metrics.add(kept.journal.counts)
        metrics.add(await kept.courier.counts)
        metrics.add(await router.figures())
        return DoorResponse.text(.ok, metrics.text, [.contentType: "text/plain; version=0.0.4"])
    }
}
