import CoreMetrics
import PCastCluster
import PCastCore
import PCastIO
import PCastSFU

/// The metrics of a running platform, for `/metrics` and for the metrics system of the host.
struct PlatformMetrics: Sendable {
    let directory: StreamDirectory
    let registry: SessionRegistry
    let router: MediaRouter
    let platformRecords: PlatformRecords
    let limiter: RequestLimiter
    let statistics: PlatformStatistics
    let authenticator: TokenAuthenticator
    let timelines: TimelineService
    let rtmp: RTMPService
    let srt: SRTService
    var spanExporter: OTLPExporter?
    /// The node of this platform; nil if it belongs to no cluster.
    var cluster: ClusterService?
    /// Nil if no other node may pull streams, and none is pulled.
    var edges: EdgeService?
    private let links = NodeLinkMetrics()

    /// Returns the current values. It calls each shard of the SFU.
    func sample() async -> MetricsText {
        let counts = await directory.counts
        let owners = await directory.owners
        let forwarded = await router.packetsForwarded()
        let allStreams = await router.streamMetrics()
        let streams = allStreams.compactMap { stream in
            owners[stream.stream].map { MetricsText.StreamSource(metrics: stream, application: $0) }
        }
        var metrics = MetricsText()
        metrics.add("pcast_streams", .gauge, "Number of published streams.", counts.streams)
        metrics.add(
            "pcast_streams_reconnecting", .gauge, "Number of streams that wait for their publisher to reconnect.",
            await directory.pendingReconnects.streams.count)
        metrics.add("pcast_viewers", .gauge, "Number of viewers of all streams.", counts.viewers)
        let packaged = directory.packaging?.counts ?? (streams: 0, viewers: 0)
        let requested = edges?.video.load ?? (streams: 0, viewers: 0, fetches: 0, bytes: 0)
        metrics.add("pcast_hls_streams", .gauge, "Number of streams that are packaged for HLS.", packaged.streams)
        metrics.add(
            "pcast_hls_viewers", .gauge,
            "Number of HLS viewers of this node that wait for a part, fewer than all behind a CDN.",
            packaged.viewers + requested.viewers)
        let recorded = directory.packaging?.recordingCounts ?? (streams: 0, queuedBytes: 0)
        metrics.add("pcast_recordings", .gauge, "Number of streams that are recorded.", recorded.streams)
        metrics.add(
            "pcast_recording_queue_bytes", .gauge, "Bytes of recordings that wait to be written to the disk.",
            recorded.queuedBytes)
        metrics.add(
            "pcast_rtmp_connections", .gauge, "Number of connections of RTMP publishers.", rtmp.connectionCount)
        metrics.add(
            "pcast_rtmp_publishers_rejected_total", .counter, "RTMP publishers that were rejected.",
            rtmp.rejectionCount)
        let srtTotals = srt.statistics
        metrics.add("pcast_srt_connections", .gauge, "Number of SRT connections.", srt.connectionCount)
        metrics.add("pcast_srt_viewers", .gauge, "Number of SRT viewers.", srt.viewers.count)
        metrics.add(
            "pcast_srt_publishers_rejected_total", .counter, "SRT clients that were rejected.", srt.rejectionCount)
        metrics.add(
            "pcast_srt_packets_received_total", .counter, "Packets that SRT publishers have sent.",
            Int(srtTotals.receivedPackets))
        metrics.add(
            "pcast_srt_packets_lost_total", .counter, "Packets of SRT publishers that were missing at first.",
            Int(srtTotals.lostPackets))
        metrics.add(
            "pcast_srt_packets_retransmitted_total", .counter, "Retransmitted packets that SRT publishers have sent.",
            Int(srtTotals.retransmittedPackets))
        metrics.add(
            "pcast_srt_packets_dropped_total", .counter, "Packets of SRT publishers that arrived too late or never.",
            Int(srtTotals.droppedPackets))
        metrics.add(
            "pcast_srt_packets_sent_total", .counter, "Packets that were sent to SRT viewers, without retransmissions.",
            Int(srtTotals.sentPackets))
        metrics.add(
            "pcast_srt_frames_dropped_total", .counter,
            "Frames that were not sent to SRT viewers, because their connections are too slow.",
            srt.viewers.droppedCount)
        if let spans = spanExporter?.counts {
            metrics.add(
                "pcast_spans_exported_total", .counter, "Spans that the collector of OTLP has accepted.", spans.exported
            )
            metrics.add(
                "pcast_spans_dropped_total", .counter,
                "Spans that did not fit into the queue, or that the collector has rejected.", spans.dropped)
        }
        if let renditions = directory.renditions?.counts {
            metrics.add(
                "pcast_rendition_processes", .gauge, "Number of processes that make renditions.", renditions.processes)
            metrics.add(
                "pcast_renditions_refused_total", .counter,
                "Times that renditions of a stream were refused, for lack of capacity or because of failures.",
                renditions.refusals)
            metrics.add(
                "pcast_rendition_failures_total", .counter, "Processes that failed while they made renditions.",
                renditions.failures)
            metrics.add(
                "pcast_rendition_cpu_seconds_total", .counter, "Processor time of the processes that make renditions.",
                [([], "\(renditions.processorTime)")])
        }
        let sessions = await registry.counts
        metrics.add("pcast_sessions", .gauge, "Number of client sessions.", sessions.all)
        metrics.add(
            "pcast_sessions_absent", .gauge, "Number of sessions whose client is disconnected.", sessions.absent)
        metrics.add("pcast_packets_forwarded_total", .counter, "Media packets forwarded to viewers.", forwarded)
        metrics.add(
            "pcast_shard_peers", .gauge, "Number of publishers and viewers of each SFU shard.",
            router.peersOfShards.enumerated().map { ([("shard", "\($0.offset)")], "\($0.element)") })
        metrics.add(
            "pcast_shard_messages_dropped_total", .counter,
            "Messages between SFU shards that were dropped because a queue was full.",
            await router.shardMessagesLost())
        metrics.add(
            "pcast_shard_checks_dropped_total", .counter,
            "Connectivity checks from unknown paths that were dropped between SFU shards, as in a flood.",
            await router.shardChecksLost())
        metrics.add(
            statistics.values, applications: authenticator.applicationIDs,
            present: await directory.countsOfApplications)
        metrics.add(limiter.counts)
        metrics.add(platformRecords.writeQueue.counts)
        metrics.add(await platformRecords.webhooks.counts)
        metrics.add(await timelines.counts)
        if let edges { await addLinks(of: edges, allStreams, to: &metrics) }
        if let cluster { metrics.add(cluster.counts) }
        metrics.add(streams)
        if let process = ProcessMetrics.read() { metrics.add(process) }
        return metrics
    }

    private func addLinks(of edges: EdgeService, _ streams: [StreamMetrics], to metrics: inout MetricsText) async {
        let current = await directory.nodeLinks
        let names = (cluster?.cluster.remoteStreams ?? []).map { (StreamID($0.stream), $0.node) }
        let nodes = Dictionary(names) { $1 }
        let pulled = streams.filter { current.pulled[$0.stream] != nil }.map { stream in
            NodeLinkMetrics.Pulled(
                stream: stream.stream, node: nodes[stream.stream] ?? NodeLinkMetrics.otherNode,
                received: stream.received)
        }
        metrics.add(
            links.update(pulled), links: current.pulling.values.reduce(0, +), pulls: await edges.pullCount)
        metrics.add(edges.video.load, edges.video.counts)
    }
}

/// Reports the metrics once per second to the metrics system of the host.
///
/// The names, units and labels are those of `/metrics`. A histogram is reported as the two counters `…_count` and
/// `…_sum`. Metrics of the process are left out, because the host's own metrics contain them.
struct MetricsReporter: Sendable {
    let metrics: PlatformMetrics
    /// The metrics system; nil for that of `MetricsSystem`.
    let factory: (any MetricsFactory)?

    private static let interval = Duration.seconds(1)

    /// Reports until the task is cancelled. Without a metrics system, it samples nothing.
    func run() async {
        var reported = ReportedMetrics()
        repeat {
            let factory = factory ?? MetricsSystem.factory
            guard !(factory is NOOPMetricsHandler) else { continue }
            reported.report(await metrics.sample(), to: factory)
        } while (try? await Task.sleep(for: Self.interval)) != nil
        reported.report(MetricsText(), to: NOOPMetricsHandler.instance)
    }
}

/// The metrics that exist in the metrics system of the host. Those of ended streams are removed, so that their number
/// has a bound.
struct ReportedMetrics {
    private struct Key: Hashable {
        let name: String
        let labels: [String]
    }

    private enum Handler {
        case gauge(Gauge)
        /// A counter and its last value, because a counter receives increments.
        case counter(FloatingPointCounter, Double)

        func destroy() {
            switch self {
            case .gauge(let gauge): gauge.destroy()
            case .counter(let counter, _): counter.destroy()
            }
        }
    }

    private var handlers: [Key: Handler] = [:]

    /// The number of metrics, with each combination of labels counted.
    var count: Int { handlers.count }

    /// Reports a sample, and removes the metrics that it does not have.
    mutating func report(_ metrics: MetricsText, to factory: any MetricsFactory) {
        var present: [Key: Handler] = [:]
        for family in metrics.families where !family.name.hasPrefix("process_") {
            for sample in family.scalars {
                guard let value = Double(sample.value) else { continue }
                let key = Key(name: sample.name, labels: sample.labels.flatMap { [$0.name, $0.value] })
                let former = handlers.removeValue(forKey: key)
                present[key] = Self.report(value, of: family.kind, as: key.name, sample.labels, former, to: factory)
            }
        }
        for ended in handlers.values { ended.destroy() }
        handlers = present
    }

    private static func report(
        _ value: Double, of kind: MetricsText.Kind, as name: String, _ labels: [(name: String, value: String)],
        _ former: Handler?, to factory: any MetricsFactory
    ) -> Handler {
        let dimensions = labels.map { ($0.name, $0.value) }
        guard kind == .gauge else {
            var (counter, last) = (FloatingPointCounter?.none, 0.0)
            if case .counter(let existing, let value) = former { (counter, last) = (existing, value) }
            let current = counter ?? FloatingPointCounter(label: name, dimensions: dimensions, factory: factory)
            if value > last { current.increment(by: value - last) }
            return .counter(current, max(value, last))
        }
        var gauge: Gauge?
        if case .gauge(let existing) = former { gauge = existing }
        let current = gauge ?? Gauge(label: name, dimensions: dimensions, factory: factory)
        current.record(value)
        return .gauge(current)
    }
}
